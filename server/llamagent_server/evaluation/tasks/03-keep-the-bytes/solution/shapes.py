def area(width, height):
	# in square metres
	if width < 0:
		raise ValueError("negative")
	return width * height


def edge(width, height):
	return 2 * (width + height)
