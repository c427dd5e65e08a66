// runs: test
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { maskSecrets } from './secret-mask.ts';

const HIDDEN = 'hunter2';

test('values of members, headers and parameters that look like secrets are masked, in whole, cut and broken texts', () => {
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

test('what is no secret stays as it was sent, with the members after a masked one', () => {
  const body = '{"products":[{"identifier":"A1","attributes":[{"key":"Chuck","value":"SDS"}]}]}';
  assert.equal(maskSecrets(body, 'key'), body);
  assert.equal(
    maskSecrets('{"password":["a",{"b":1}],"name":"Drill, 18 V","n":1}'),
    '{"password":"•••","name":"Drill, 18 V","n":1}',
  );
  assert.equal(maskSecrets('{"keywords":["saw"],"author":"me"}'), '{"keywords":["saw"],"author":"me"}');
});
