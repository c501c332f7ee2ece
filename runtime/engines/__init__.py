"""The engines that run runtime plans: Spark, and the embedded one."""
