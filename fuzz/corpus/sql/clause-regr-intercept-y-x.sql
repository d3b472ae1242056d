SELECT REGR_INTERCEPT(cost, minutes) FROM visits
