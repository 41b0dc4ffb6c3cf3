import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseXml, writeXml } from './xml.ts'

describe('the XML of notifications', () => {
  it('is read as objects, arrays, texts and nothing', () => {
    const xml = `<?xml version="1.0" encoding="UTF-8"?>
      <notification>
        <kind>a &amp; b &#233;&#x1F600; &unknown;</kind>
        <subject>
          <item id="1"><id>1</id></item>
          <item><id>2</id></item>
          <none nil="true"/>
          <nothing type='array' nil='true'></nothing>
          <empty/><!-- <not/> -->
          <verbatim><![CDATA[<&amp;>]]></verbatim>
        </subject>
      </notification>\n`
    expect(parseXml(xml)).toEqual({
      notification: {
        kind: 'a & b é😀 &unknown;',
        subject: {
          item: [{ id: '1' }, { id: '2' }],
          none: null,
          nothing: null,
          empty: '',
          verbatim: '<&amp;>',
        },
      },
    })
  })

  it.each([
    '',
    'text',
    '<a>',
    '</a>',
    '<a></b>',
    '<a/><b/>',
    '<a/>x',
    '<!DOCTYPE a [<!ENTITY x "y">]><a>&x;</a>',
    '<a><![CDATA[x</a>',
    '<a><!-- x</a>',
    '<!-- x -->',
    '<a b=c/>',
    `${'<a>'.repeat(40)}${'</a>'.repeat(40)}`,
  ])('is not read where it is not plain: %s', (xml) => {
    expect(parseXml(xml)).toBeUndefined()
  })

  it('holds names that objects know, and nothing of them', () => {
    const read = parseXml('<a><__proto__><x>1</x></__proto__><constructor>2</constructor></a>')
    expect(Object.keys(read?.a as object)).toEqual(['__proto__', 'constructor'])
    expect(({} as Record<string, unknown>).x).toBeUndefined()
  })

  it('reads again what it writes', () => {
    const text = fc.string({ unit: 'grapheme' }).filter((value) => value.trim() !== '' || value === '')
    const leaf = fc.dictionary(fc.stringMatching(/^[a-z][a-z-]{0,8}$/), fc.oneof(text, fc.constant(null)), {
      minKeys: 1,
    })
    fc.assert(
      fc.property(leaf, (value) => {
        expect(parseXml(writeXml('root', value))).toEqual({ root: value })
      }),
    )
  })

  it('never throws, in a time that grows with the text and not faster', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        parseXml(text)
        parseXml(`<a>${text}</a>`)
        parseXml(`<a ${text}>`)
      }),
    )
    for (const text of [
      `<a${' '.repeat(1e6)}`,
      '<a>'.repeat(3e5),
      `<a>${'&'.repeat(1e6)}</a>`,
      `<a ${'b="c" '.repeat(1e5)}`,
    ])
      parseXml(text)
  })
})
