print("Hello, Ada!")
