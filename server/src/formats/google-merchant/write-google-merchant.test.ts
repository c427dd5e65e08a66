// runs: test
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Field, readField } from '../output/fields.ts';
import { googleMerchant } from './write-google-merchant.ts';

const fieldOf = (name: string) => googleMerchant.fields?.find((field) => field.name === name) as Field;

test('a price of 0 is not published, and a code that is too long is left out and not truncated (§16.7)', () => {
  for (const price of ['0 EUR', '0.00 EUR', '0,00 €'])
    assert.deepEqual(readField(price, fieldOf('price')), {
      problem: 'is 0, which is not a price to publish',
    });
  assert.deepEqual(readField('0.01 EUR', fieldOf('price')), { value: '0.01 EUR' });
  assert.deepEqual(readField('x'.repeat(71), fieldOf('mpn')), { problem: 'is longer than 70 characters' });
  assert.deepEqual(readField('x'.repeat(101), fieldOf('color')), {
    value: 'x'.repeat(100),
    note: 'was cut to 100 characters',
  });
});

test('RSS has a link, which comes from the first product, and a description (§16.7)', () => {
  const columns = [fieldOf('id'), fieldOf('link')];
  const writer = googleMerchant.variants.xml?.open({
    columns,
    as: [],
    channelName: 'Shop & Co',
    day: '2026-11-25',
    identifiedBy: 'id',
    changes: false,
  });
  const rows = ['A', 'B'].map((id) => ({
    values: [[id], [`https://shop.example/p/${id}?a=1&b=2`]],
    related: [],
  }));
  assert.match(
    String(writer?.head),
    /<title>Shop &amp; Co<\/title>\n<description>Shop &amp; Co<\/description>\n$/,
  );
  const [first, second] = rows.map((row) => writer?.write(row));
  assert.match(String(first), /^<link>https:\/\/shop\.example<\/link>\n<item><g:id>A</);
  assert.match(String(second), /^<item><g:id>B</);
});
