import { expect, test } from 'vitest'
import { shopifyList } from './shopify.ts'

test('a list whose pages lead back to an earlier one ends with an error', async () => {
  const next: Record<string, string> = { '': 'a', a: 'b', b: 'a' }
  const asked: string[] = []
  const get = async (_path: string, query: Readonly<Record<string, string>> = {}) => {
    const page = query.page_info ?? ''
    asked.push(page)
    const link = `<https://shop.test/orders.json?page_info=${next[page]}>; rel="next"`
    return {
      text: '{"orders":[]}',
      json: { orders: [] },
      header: (name: string) => (name === 'link' ? link : null),
    }
  }
  const window = {
    sinceMs: 0,
    untilMs: 1,
    types: undefined,
    wants: (type: string) => type.startsWith('orders/'),
  }
  const options = { shop: 'shop.test', apiVersion: '2025-10', apiKey: 'key' }
  const { pages } = await shopifyList.open({ get, find: async () => undefined }, window, options as never)
  const read = async (): Promise<void> => {
    for await (const _ of pages.read());
  }
  await expect(read()).rejects.toThrow('the list leads back to its page "a"')
  expect(asked).toEqual(['', 'a', 'b'])
})
