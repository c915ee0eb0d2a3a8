// Nothing is called. The data that this target brings takes a name: empty.c.
