print("Hello Ada")
