SELECT COUNT(greatest(cost, 10)), COUNT(least(cost, 500)) FROM visits
