"""Which server answers a request, where several serve one database?"""
