import type { KeyStore } from '../store.ts'

/**
 * Wraps a store: some verbs are replaced, everything else is passed through. The wrapped store may
 * be a class instance. Its methods are on its prototype and, with private fields, must be called on
 * the instance itself.
 */
export function layerOver<Store extends KeyStore>(store: Store, own: Partial<KeyStore>): Store {
  const layer = {}
  const beneath: object = store
  for (let at = beneath; at !== null && at !== Object.prototype; at = Object.getPrototypeOf(at))
    for (const name of Reflect.ownKeys(at))
      if (name !== 'constructor' && !Object.hasOwn(layer, name))
        Object.defineProperty(layer, name, {
          configurable: true,
          enumerable: true,
          ...passedOn(beneath, name),
        })
  // The layer has every property of the store, with the same types.
  return Object.defineProperties(layer, Object.getOwnPropertyDescriptors(own)) as Store
}

function passedOn(store: object, name: PropertyKey): PropertyDescriptor {
  const value: unknown = Reflect.get(store, name)
  return typeof value === 'function'
    ? { writable: true, value: value.bind(store) }
    : { get: () => Reflect.get(store, name) }
}
