SELECT REGR_R2(cost, minutes) FROM visits
