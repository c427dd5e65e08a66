// runs: test
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  listProblems,
  readAll,
  readCutAnywhere,
  readInEveryWay,
  readValues,
} from '../../../test/support/formats/format-reading.ts';

const xml = { type: 'xml' } as const;

const CATALOG = `<?xml version="1.0" encoding="UTF-8"?>
<!-- the shop's catalog -->
<shop:catalog xmlns:shop="urn:shop" xmlns:p="urn:product">
  <head><language>de</language><language>en</language></head>
  <?php no ?>
  <products count="2">
    <p:product id="1" p:kind="tool">
      <p:name>Drill &amp; bits &#x263A; &lt;18 V&gt;</p:name>
      <price currency="EUR">19.90</price>
      <image>a.jpg</image><image>b.jpg</image>
      <text><![CDATA[<b>bold</b> & more]]> end</text>
      <sizes><size><value>1</value></size><size><value>2</value></size></sizes>
      <empty/><blank>  </blank>
    </p:product>
    <p:product id="2"><p:name>
      Säge
    </p:name></p:product>
  </products>
</shop:catalog>`;

test('finds the repeated element; columns have dotted names, attributes an @, and repeated elements become lists', async () => {
  const { rows, columns, found } = await readCutAnywhere(xml, CATALOG);
  assert.equal(found.record, 'catalog/products/product');
  assert.deepEqual(
    rows.map(({ number, values }) => ({ number, ...values })),
    [
      {
        number: 1,
        '@id': '1',
        '@kind': 'tool',
        name: 'Drill & bits ☺ <18 V>',
        'price.@currency': 'EUR',
        price: '19.90',
        image: ['a.jpg', 'b.jpg'],
        text: '<b>bold</b> & more end',
        'sizes.size.value': ['1', '2'],
        empty: '',
        blank: '',
      },
      { number: 2, '@id': '2', name: 'Säge' },
    ],
  );
  assert.deepEqual(columns.slice(0, 3), ['@id', '@kind', 'name']);
  assert.deepEqual(JSON.parse(JSON.stringify(rows[0]?.source)), {
    '@id': '1',
    '@kind': 'tool',
    name: 'Drill & bits ☺ <18 V>',
    price: { '@currency': 'EUR', '#text': '19.90' },
    image: ['a.jpg', 'b.jpg'],
    text: '<b>bold</b> & more end',
    sizes: { size: [{ value: '1' }, { value: '2' }] },
    empty: '',
    blank: '',
  });
});

const choices = [
  { record: 'product', ids: ['1', '2'] },
  { record: 'p:product', ids: ['1', '2'] },
  { record: 'catalog/products/product', ids: ['1', '2'] },
  { record: '/shop:catalog/products/p:product', ids: ['1', '2'] },
];
for (const { record, ids } of choices)
  test(`the element may be named as ${record}`, async () => {
    const { rows } = await readAll({ ...xml, record }, CATALOG);
    assert.deepEqual(
      rows.map(({ values }) => values['@id']),
      ids,
    );
  });

test('a record that no element matches is reported as not_found', async () => {
  for (const record of ['nothing', 'products/product', '/product', 'catalog/product'])
    await assert.rejects(readAll({ ...xml, record }, CATALOG), { reason: 'not_found' }, record);
});

test('an element inside a chosen element of the same name is a part of it', async () => {
  const text = '<a><item id="1"><item id="2"/></item><item id="3"/></a>';
  assert.deepEqual(await readValues({ ...xml, record: 'item' }, text), [
    { '@id': '1', 'item.@id': '2' },
    { '@id': '3' },
  ]);
});

const found = [
  { text: '<l><p><i/><i/><n>1</n></p><p><i/></p></l>', record: 'l/p' },
  { text: '<l><p id="1"/><p id="2"/></l>', record: 'l/p' },
  { text: '<l><x>1</x><x>2</x></l>', record: 'l/x' },
  { text: '<l><p><id>1</id><image>a</image><image>b</image></p></l>', record: 'l/p' },
  {
    text: '<rss><channel><title>t</title><item><a>1</a></item><item><a>2</a></item></channel></rss>',
    record: 'rss/channel/item',
  },
];
for (const { text, record } of found)
  test(`finds ${record} in ${text}`, async () => {
    assert.equal((await readInEveryWay(xml, text)).found.record, record);
  });

test('an element with only text has its text under its own name', async () => {
  assert.deepEqual(await readValues(xml, '<l><x>1</x><x>2</x></l>'), [{ x: '1' }, { x: '2' }]);
});

test('a document without repeated elements is reported as not_found', async () => {
  for (const text of ['<a>text</a>', '<a/>'])
    await assert.rejects(readAll(xml, text), { reason: 'not_found' });
});

test('names from a file never become prototypes', async () => {
  const text = '<l><p __proto__="a"><__proto__><x>b</x></__proto__><constructor>c</constructor></p><p/></l>';
  const { rows } = await readAll(xml, text);
  assert.deepEqual(Object.entries(rows[0]?.values ?? {}), [
    ['@__proto__', 'a'],
    ['__proto__.x', 'b'],
    ['constructor', 'c'],
  ]);
  assert.equal(Reflect.get(Object(rows[0]?.source), 'x'), undefined);
});

const LAUGHS = `<?xml version="1.0"?><!DOCTYPE l [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">
<!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;">]><l><p><n>&c;</n></p><p/></l>`;

const refused = [
  { name: 'billion laughs', text: LAUGHS, error: /DOCTYPE/ },
  {
    name: 'an entity that reads a file of the server',
    text: '<!DOCTYPE l [<!ENTITY x SYSTEM "file:///etc/passwd">]><l><p>&x;</p></l>',
    error: /DOCTYPE/,
  },
  {
    name: 'parameter entities',
    text: '<!DOCTYPE l [<!ENTITY % x "y"> %x;]><l><p/><p/></l>',
    error: /DOCTYPE/,
  },
  {
    name: 'an undefined entity',
    text: '<l><p a="1">&nbsp;</p><p/></l>',
    error: /undefined entity/,
  },
  { name: 'a character that XML forbids', text: '<l><p a="1">\u0001</p><p/></l>', error: /not XML/ },
  { name: 'an overlap of tags', text: '<l><p a="1"><b></p></b></l>', error: /not XML/ },
  { name: 'a repeated attribute', text: '<l><p a="1" a="2"/><p/></l>', error: /not XML/ },
  { name: 'text that is not XML', text: 'id,name\n1,a\n', error: /not XML/ },
];
for (const { name, text, error } of refused)
  test(`${name} is refused, with the line`, async () => {
    for (const format of [xml, { ...xml, record: 'p' }]) {
      await assert.rejects(readAll(format, text), error);
      await assert.rejects(readAll(format, text, { chunkBytes: 1 }), /^FormatProblem: Line \d: /);
    }
  });

test('a document that ends in the middle yields its complete rows, then fails with broken_off', async () => {
  const text = '<l><p id="1"><n>1</n></p><p id="2"><n>2</n></p></l>';
  for (let length = 1; length < text.length; length += 1)
    await assert.rejects(
      readAll({ ...xml, record: 'p' }, text.slice(0, length)),
      { reason: 'broken_off' },
      `${length}`,
    );
});

test('a problem is reported with its line', async () => {
  await assert.rejects(readAll(xml, '<l>\n<p a="1"/>\n<p a="2"/>\n<p>&what;</p>\n</l>'), {
    line: 4,
    message: /^Line 4: /,
  });
});

const many = (text: string, count: number) => text.repeat(count);
const large = [
  { name: 'a text of 10 MB', text: `<l><p><n>${many('x', 10_000_000)}</n></p></l>` },
  { name: 'a text of 10 MB in pieces', text: `<l><p><n>${many('x&amp;', 2_000_000)}</n></p></l>` },
  {
    name: 'a text of 10 MB in sections',
    text: `<l><p><n>${many('<![CDATA[xxxxxxxxxx]]>', 500_000)}</n></p></l>`,
  },
  { name: 'an attribute of 10 MB', text: `<l><p a="${many('x', 10_000_000)}"/></l>` },
  { name: 'a name of 10 MB', text: `<l><p><${many('x', 10_000_000)}/></p></l>` },
  { name: 'a comment of 10 MB', text: `<l><!--${many('x', 10_000_000)}--><p/></l>` },
  { name: 'an entity of 10 MB', text: `<l><p>&${many('x', 10_000_000)};</p></l>` },
  { name: 'a document type of 10 MB', text: `<!DOCTYPE l ${many('x', 10_000_000)}><l><p/></l>` },
  { name: 'a text of 10 MB outside the elements', text: `<l>${many('x', 10_000_000)}<p/></l>` },
  { name: 'a million elements in a row', text: `<l><p>${many('<n/>', 1_000_000)}</p></l>` },
  { name: 'a million attributes in a row', text: `<l><p>${many('<n a="1"/>', 500_000)}</p></l>` },
  { name: 'a million levels', text: many('<p>', 1_000_000) },
  { name: '41 levels', text: `${many('<a>', 40)}<p/>${many('</a>', 40)}` },
];
for (const { name, text } of large)
  test(`${name} is refused`, async () => {
    await assert.rejects(readAll({ ...xml, record: 'p' }, text), {
      name: 'FormatProblem',
      reason: 'too_large',
    });
  });

test('rows of XML have no problems', async () => {
  assert.deepEqual(listProblems((await readAll(xml, CATALOG)).rows), []);
});

test('a DOCTYPE that only names an external DTD is read, and the DTD is not fetched (§13.7)', async () => {
  const text = '<!DOCTYPE l SYSTEM "http://127.0.0.1:1/x.dtd"><l><p a="1"/><p a="2"/></l>';
  assert.deepEqual(await readValues(xml, text), [{ '@a': '1' }, { '@a': '2' }]);
  const withEntity = '<!DOCTYPE l SYSTEM "x.dtd"><l><p>&own;</p><p/></l>';
  await assert.rejects(readAll(xml, withEntity), /undefined entity/);
});

test('elements that differ in an attribute get additional columns, which a mapping can choose (§13.7)', async () => {
  const text = `<l><p><model>EOS</model><model lang="de">EOS de</model><n>1</n></p>
    <p><model lang="de">D5</model><n>2</n></p></l>`;
  const { rows, columns } = await readAll(xml, text);
  assert.deepEqual(
    rows.map(({ values }) => ({ ...values })),
    [
      {
        model: ['EOS', 'EOS de'],
        'model.@lang': 'de',
        n: '1',
        'model[not(@lang)]': 'EOS',
        'model[@lang=de]': 'EOS de',
      },
      { model: 'D5', 'model.@lang': 'de', n: '2' },
    ],
  );
  assert.deepEqual(columns.slice(-2), ['model[not(@lang)]', 'model[@lang=de]']);
});

test('elements outside the repeated element are counted with their paths (§13.7)', async () => {
  const text =
    '<l v="1"><meta><at>now</at><by id="3"/></meta><p><a>1</a></p><p><a>2</a></p><note>x</note></l>';
  const { unread } = await readAll({ ...xml, record: 'p' }, text);
  assert.deepEqual(
    [...unread],
    [
      ['l/meta/at', 1],
      ['l/meta/by', 1],
      ['l/note', 1],
    ],
  );
});

test('repeated elements with several values become rows, even if they have only attributes; texts with an attribute do not (§13.7)', async () => {
  const { rows } = await readAll(
    { type: 'xml', record: 'board' },
    `<b><board><id>1</id><name lang="de">Platine</name><name>Board</name>
      <slot><size>2280</size><key>M</key></slot><slot><size>2230</size></slot>
      <calibration><at focal="10" k="0.1"/><at focal="20" k="0.2"/></calibration></board></b>`,
  );
  assert.deepEqual(
    { ...rows[0]?.rows },
    { 'slot.size': [1, 2], 'slot.key': [1], 'calibration.at.@focal': [3, 4], 'calibration.at.@k': [3, 4] },
  );
});

test('of several repeated siblings, the one with the most contents is chosen (§13.7)', async () => {
  const mounts = '<mount><name>A</name></mount>'.repeat(3);
  const cameras = '<camera><maker>a</maker><model>b</model><mount>A</mount></camera>'.repeat(2);
  const { found } = await readAll({ type: 'xml' }, `<db>${mounts}${cameras}</db>`);
  assert.equal(found.record, 'db/camera');
});
