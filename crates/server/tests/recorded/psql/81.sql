select version();
