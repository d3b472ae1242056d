SELECT REGR_SLOPE(cost, minutes), REGR_INTERCEPT(cost, minutes) FROM visits
