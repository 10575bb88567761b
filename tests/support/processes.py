"""How tests start processes of their own."""

SHORT_LIVED_JAVA = {"JDK_JAVA_OPTIONS": "-XX:TieredStopAtLevel=1"}
"""Environment of a process that runs Spark for some seconds: without the optimising compiler it takes half the work."""
