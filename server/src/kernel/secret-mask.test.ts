// runs: test
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MASK, maskLooks, maskSecrets } from './secret-mask.ts';

const HIDDEN = 'hunter2';

test('the mask hides values with secret names, also in truncated and malformed texts', () => {
  const texts = [
    `{"password":"${HIDDEN}"}`,
    `{"password" : "${HIDDEN}`,
    `{"a":{"clientSecret":"x\\"${HIDDEN}"},"b":1}`,
    `{"pass\\u0077ord":"${HIDDEN}"}`,
    `{"apiKey":${HIDDEN}}`,
    `{"apiKeyValue":"${HIDDEN}","passphrase":"${HIDDEN}","secretAccessKey":"${HIDDEN}"}`,
    `{"tokens":["a",{"value":"${HIDDEN}"}],"name":"n"}`,
    `{"headers":{"X-Whatever":"${HIDDEN}","Accept":"a`,
    `{"url":"https://me:${HIDDEN}@host/file?a=1"}`,
    `{"url":"https://host/file?a=1&access_token=${HIDDEN}&b=2"}`,
    `{password: '${HIDDEN}'}`,
    `{'api-key': ${HIDDEN}}`,
    `user=me&password=${HIDDEN}&more=1`,
    `Authorization: Bearer ${HIDDEN}`,
    `/projects?apiKey=${HIDDEN}&limit=1`,
    `{"privateKey":"-----BEGIN\\n${HIDDEN}`,
  ];
  for (const text of texts) {
    assert.doesNotMatch(maskSecrets(text), new RegExp(HIDDEN), text);
    assert.match(maskSecrets(text), /•••/, text);
  }
});

test('the mask leaves other values unchanged, also members after a masked one', () => {
  const body = '{"products":[{"identifier":"A1","attributes":[{"key":"Chuck","value":"SDS"}]}]}';
  assert.equal(maskSecrets(body, 'key'), body);
  assert.equal(
    maskSecrets('{"password":["a",{"b":1}],"name":"Drill, 18 V","n":1}'),
    '{"password":"•••","name":"Drill, 18 V","n":1}',
  );
  assert.equal(maskSecrets('{"keywords":["saw"],"author":"me"}'), '{"keywords":["saw"],"author":"me"}');
});

test('the mask hides a base64 secret that slashes divide into short parts', () => {
  for (const secret of [
    'oFkmB8b8l71WT78=/Y6XzJOrB0/k3JxQ8vTn2LmA5cEw7dR9s',
    'aB3/cD4/eF5/gH6/iJ7/kL8/mN9/oP0/',
    'abcDEFghiJKLmn8/pqrSTUvwxYZabCDefGHi/kLM',
  ])
    for (const around of [
      secret,
      `/docs/${secret}`,
      `Invalid URL /channels/${secret}/feed.xml, said a caller`,
    ])
      assert.equal(maskLooks(around).includes(secret.slice(0, 12)), false, around);
});

test('the mask leaves file paths, task ids and function names unchanged', () => {
  for (const text of [
    'file:///home/Anna/Relata2/server/test/service/secrets-in-log.test.ts:98:12',
    '/tasks/abcdef0123456789abcdef01/log',
    'at createPostgresAnswers (C:/Program Files/nodejs20/node_modules/relata/dist/main.mjs:1:2)',
    'node:internal/process/task_queues:104:5',
  ])
    assert.equal(maskLooks(text), text);
  assert.equal(maskLooks(`/x/${'A1b'.repeat(12)}`), MASK);
});
