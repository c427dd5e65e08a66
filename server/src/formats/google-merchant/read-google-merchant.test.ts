// runs: test
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  readAll,
  readCutAnywhere,
  readInEveryWay,
  readValues,
} from '../../../test/support/formats/format-reading.ts';

const google = { type: 'google-merchant' } as const;

const RSS = `<?xml version="1.0" encoding="UTF-8"?>
<rss xmlns:g="http://base.google.com/ns/1.0" version="2.0">
<channel>
  <title>Example shop</title><link>https://shop.example</link><description>Tools</description>
  <item>
    <g:id>D18-B</g:id>
    <title>Cordless drill 18 V</title>
    <description><![CDATA[Two <b>batteries</b>]]></description>
    <link>https://shop.example/p/d18?a=1&amp;b=2</link>
    <g:image_link>https://shop.example/i/1.jpg</g:image_link>
    <g:additional_image_link>https://shop.example/i/2.jpg</g:additional_image_link>
    <g:additional_image_link>https://shop.example/i/3.jpg</g:additional_image_link>
    <g:item_group_id>D18</g:item_group_id>
    <g:product_type>Tools &gt; Drills</g:product_type>
    <g:google_product_category>1167</g:google_product_category>
    <g:price>99.00 EUR</g:price><g:brand>Bosch</g:brand><g:gtin>4006381333931</g:gtin>
    <g:availability>in_stock</g:availability><g:condition>new</g:condition><g:color>blue</g:color>
    <g:shipping><g:country>DE</g:country><g:price>4.90 EUR</g:price></g:shipping>
    <g:shipping><g:country>AT</g:country><g:price>9.90 EUR</g:price></g:shipping>
    <g:product_detail><g:section_name>Motor</g:section_name><g:attribute_name>Voltage</g:attribute_name><g:attribute_value>18 V</g:attribute_value></g:product_detail>
    <g:product_detail><g:attribute_name>color</g:attribute_name><g:attribute_value>navy</g:attribute_value></g:product_detail>
  </item>
  <item><g:id>S1</g:id><g:title>Saw</g:title><g:link>https://shop.example/p/s1</g:link></item>
</channel></rss>`;

test('a feed in RSS has columns with the names of the specification', async () => {
  const { rows, found } = await readCutAnywhere(google, RSS);
  assert.equal(found.feed, 'RSS');
  assert.deepEqual(
    rows.map(({ number, values }) => ({ number, ...values })),
    [
      {
        number: 1,
        id: 'D18-B',
        title: 'Cordless drill 18 V',
        description: 'Two <b>batteries</b>',
        link: 'https://shop.example/p/d18?a=1&b=2',
        image_link: 'https://shop.example/i/1.jpg',
        additional_image_link: ['https://shop.example/i/2.jpg', 'https://shop.example/i/3.jpg'],
        item_group_id: 'D18',
        product_type: 'Tools > Drills',
        google_product_category: '1167',
        price: '99.00 EUR',
        brand: 'Bosch',
        gtin: '4006381333931',
        availability: 'in_stock',
        condition: 'new',
        color: 'blue',
        'shipping.country': ['DE', 'AT'],
        'shipping.price': ['4.90 EUR', '9.90 EUR'],
        Voltage: '18 V',
        'product_detail.color': 'navy',
      },
      { number: 2, id: 'S1', title: 'Saw', link: 'https://shop.example/p/s1' },
    ],
  );
});

const ATOM = `<feed xmlns="http://www.w3.org/2005/Atom" xmlns:shop="http://base.google.com/ns/1.0">
  <title>Example shop</title><link href="https://shop.example" rel="self"/><id>tag:shop.example,2024:feed</id>
  <entry>
    <id>tag:shop.example,2024:1</id><shop:id>D18-B</shop:id>
    <title>Cordless drill</title><summary>Two batteries</summary>
    <link rel="self" href="https://shop.example/feed/1"/><link href="https://shop.example/p/d18"/>
    <shop:price>99.00 EUR</shop:price>
  </entry>
</feed>`;

test('in Atom, the product has its own id, its link is an attribute, and its description is a summary', async () => {
  const { rows, found } = await readCutAnywhere(google, ATOM);
  assert.equal(found.feed, 'Atom');
  assert.deepEqual(
    { ...rows[0]?.values },
    {
      id: 'D18-B',
      title: 'Cordless drill',
      description: 'Two batteries',
      link: 'https://shop.example/p/d18',
      price: '99.00 EUR',
    },
  );
});

const TEXT = [
  [
    'id',
    'title',
    'Image Link',
    'additional image link',
    'item_group_id',
    'product type',
    'price',
    'product_detail',
  ],
  [
    'D18',
    'Drill, "18 V"',
    'https://a/1.jpg',
    'https://a/2.jpg,https://a/3.jpg',
    '',
    'Tools > Drills',
    '99.00 EUR',
    'Motor:Voltage:18 V,:Size:a, b,:price:x',
  ],
  ['S1', 'Saw', 'https://a/4.jpg', '', 'S', '', '5 EUR', ''],
];

test('a feed as tab-separated text has the same names, lists and details', async () => {
  const write = (cells: readonly string[]) =>
    cells.map((cell) => (cell.includes('"') ? `"${cell.replaceAll('"', '""')}"` : cell)).join('\t');
  const { rows, found, columns } = await readInEveryWay(google, `${TEXT.map(write).join('\r\n')}\r\n`);
  assert.equal(found.feed, 'text');
  assert.deepEqual(
    rows.map(({ number, values }) => ({ number, ...values })),
    [
      {
        number: 2,
        id: 'D18',
        title: 'Drill, "18 V"',
        image_link: 'https://a/1.jpg',
        additional_image_link: ['https://a/2.jpg', 'https://a/3.jpg'],
        item_group_id: '',
        product_type: 'Tools > Drills',
        price: '99.00 EUR',
        Voltage: '18 V',
        Size: 'a, b',
        'product_detail.price': 'x',
      },
      {
        number: 3,
        id: 'S1',
        title: 'Saw',
        image_link: 'https://a/4.jpg',
        item_group_id: 'S',
        product_type: '',
        price: '5 EUR',
      },
    ],
  );
  assert.deepEqual(columns.slice(0, 4), ['id', 'title', 'image_link', 'additional_image_link']);
});

test('elements without a prefix are attributes too', async () => {
  assert.deepEqual(
    await readValues(google, '<rss><channel><item><id>1</id><title>a</title></item></channel></rss>'),
    [{ id: '1', title: 'a' }],
  );
});

test('a feed without products and a web page are refused', async () => {
  await assert.rejects(readAll(google, '<rss><channel><title>a</title></channel></rss>'), {
    reason: 'not_found',
  });
  await assert.rejects(readAll(google, '<!DOCTYPE html><html><p>Sign in</p></html>'), /web page/);
  await assert.rejects(readAll(google, '<rss><channel><item><id>1</id></item>'), { reason: 'broken_off' });
});
