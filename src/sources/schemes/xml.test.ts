import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseXmlText, withoutAttributes, writeXml } from './xml.ts'

const plain = (text: string): unknown => {
  const parsed = parseXmlText(text)
  return parsed === undefined ? undefined : JSON.parse(JSON.stringify(parsed))
}

describe('XML', () => {
  it('is read as elements, attributes and text', () => {
    expect(
      plain(
        `\ufeff<?xml version='1.0'?><!-- a < b --><feed xmlns:yt="u"><link rel="hub" href='/a'/><entry><yt:videoId>v1</yt:videoId><title>a &amp; &#98;&#x63; <![CDATA[<d>]]></title></entry><entry/></feed>\n`,
      ),
    ).toEqual({
      feed: {
        '@xmlns:yt': 'u',
        link: { '@rel': 'hub', '@href': '/a' },
        entry: [{ 'yt:videoId': 'v1', title: 'a & bc <d>' }, ''],
      },
    })
    expect(plain('<a b="1">text</a>')).toEqual({ a: { '@b': '1', '#text': 'text' } })
    expect(plain('<__proto__><x>1</x></__proto__>')).toBeDefined()
    expect(({} as Record<string, unknown>).x).toBeUndefined()
  })

  it.each([
    '',
    'text',
    '<a>',
    '</a>',
    '<a></b>',
    '<a><b></a></b>',
    '<a/><b/>',
    '<a/>text',
    '<a b=1/>',
    '<a b="<"/>',
    '<!DOCTYPE a [<!ENTITY x "y">]><a>&x;</a>',
    '<a>'.repeat(100) + '</a>'.repeat(100),
  ])('is rejected if it is not well-formed: %j', (text) => {
    expect(parseXmlText(text)).toBeUndefined()
  })

  it('is read back as it was written', () => {
    const name = fc.stringMatching(/^[a-z]{1,5}(:[a-zA-Z]{1,5})?$/)
    const text = fc.string({ unit: 'grapheme' }).filter((one) => !one.includes('\r'))
    const leaf = fc.dictionary(name, text, { minKeys: 1 })
    fc.assert(
      fc.property(name, fc.dictionary(name, fc.oneof(text, leaf), { minKeys: 1 }), (root, members) => {
        expect(plain(writeXml({ [root]: members }))).toEqual({ [root]: members })
      }),
    )
  })

  it('never throws, for any input', () => {
    const piece = fc.constantFrom(
      '<',
      '>',
      '/',
      'a',
      '=',
      '"',
      ' ',
      '&#99999999;',
      '&lt;',
      '<![CDATA[',
      ']]>',
      '<!--',
    )
    fc.assert(fc.property(fc.array(piece, { maxLength: 60 }), (pieces) => void parseXmlText(pieces.join(''))))
  })

  // Quadratic time would take minutes here.
  it.each([' ', '<', '<a ', '<!--', '<![CDATA[', 'a="', '&'])(
    'reads a megabyte of %j without getting slow',
    (piece) => {
      const many = piece.repeat(1_000_000 / piece.length)
      expect(parseXmlText(`<a ${many}`)).toBeUndefined()
      expect(parseXmlText(`<a>${many}`)).toBeUndefined()
    },
  )

  it('can be read without its attributes', () => {
    const parsed = parseXmlText(
      '<n><id type="integer">1</id><none nil="true"/><gone type="array" nil="true"></gone><item a="1"><x>2</x></item><item/></n>',
    )
    expect(JSON.parse(JSON.stringify(withoutAttributes(parsed)))).toEqual({
      n: { id: '1', none: null, gone: null, item: [{ x: '2' }, ''] },
    })
  })
})
