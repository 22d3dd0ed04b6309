package target
func fakeTarget(string){}
