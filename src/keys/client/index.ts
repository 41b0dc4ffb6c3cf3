export { type KeyedFetch, type KeyedFetchOptions, keyedFetch } from './keyed-fetch.ts'
