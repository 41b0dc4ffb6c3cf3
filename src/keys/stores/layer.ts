import type { KeyStore } from '../store.ts'

/**
 * A store with some verbs of its own, and all else that the one beneath it has. That may be an instance of a class: its
 * methods are not its own properties, and with private fields they work on nothing but itself.
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
  // Everything that the store had is there again, under the same types.
  return Object.defineProperties(layer, Object.getOwnPropertyDescriptors(own)) as Store
}

function passedOn(store: object, name: PropertyKey): PropertyDescriptor {
  const value: unknown = Reflect.get(store, name)
  return typeof value === 'function'
    ? { writable: true, value: value.bind(store) }
    : { get: () => Reflect.get(store, name) }
}
