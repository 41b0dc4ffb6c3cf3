// @ts-check
import { readFileSync } from 'node:fs'

/**
 * @typedef {object} Contender
 * @property {string} name
 * @property {string} file
 * @property {string} [package]
 * @property {boolean} [isPeer]
 * @property {boolean} [isFunction] protects a function that can be called without HTTP
 * @property {'node:http' | 'Express'} on
 */

/** @type {readonly Contender[]} */
export const contenders = [
  { name: 'none', file: 'none.mjs', isFunction: true, on: 'node:http' },
  { name: 'hookonce', file: 'hookonce.mjs', on: 'node:http' },
  { name: 'hookonce-once', file: 'hookonce-once.mjs', isFunction: true, on: 'node:http' },
  { name: 'hookonce-cached', file: 'hookonce-cached.mjs', isFunction: true, on: 'node:http' },
  { name: 'hookonce-express', file: 'hookonce-express.mjs', on: 'Express' },
  {
    name: 'powertools',
    file: 'powertools.mjs',
    package: '@aws-lambda-powertools/idempotency',
    isPeer: true,
    isFunction: true,
    on: 'node:http',
  },
  {
    name: 'powertools-cached',
    file: 'powertools-cached.mjs',
    package: '@aws-lambda-powertools/idempotency',
    isPeer: true,
    isFunction: true,
    on: 'node:http',
  },
  {
    name: 'node-idempotency',
    file: 'node-idempotency.mjs',
    package: '@node-idempotency/core',
    isPeer: true,
    isFunction: true,
    on: 'node:http',
  },
  {
    name: 'express-idempotency',
    file: 'express-idempotency.mjs',
    package: 'express-idempotency',
    isPeer: true,
    on: 'Express',
  },
]

/** @param {Contender} contender */
export function versionOf({ package: name }) {
  if (name === undefined) return ''
  const path = new URL(`../node_modules/${name}/package.json`, import.meta.url)
  return JSON.parse(readFileSync(path, 'utf8')).version
}
