SELECT COUNT(ceil(cost / 100)), COUNT(floor(cost / 100)), COUNT(round(cost, 1)), COUNT(trunc(cost)) FROM visits
