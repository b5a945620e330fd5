"""The pure core: values and rules, standard library only, no await, no input or output."""
