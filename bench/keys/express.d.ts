declare module 'express'
