import { hooks } from '../src/hooks.ts'

export const dynamic = 'force-dynamic'

export default async function Page() {
  const { business } = await hooks().ledger()
  const { rows } = await business.query<{ sku: string; quantity: number }>('select * from stock order by sku')
  return (
    <main>
      <h1>Stock</h1>
      <ul>
        {rows.map(({ sku, quantity }) => (
          <li key={sku}>
            {sku}: {quantity}
          </li>
        ))}
      </ul>
    </main>
  )
}
