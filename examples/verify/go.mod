module example.com/verify

go 1.21
