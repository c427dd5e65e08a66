import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createPipeline } from '../support/pipeline-under-test.ts';
import { shareService } from '../support/shared-service.ts';

const service = shareService();

const BMECAT = `<BMECAT version="2005"><HEADER/><T_NEW_CATALOG><PRODUCT><SUPPLIER_PID>M1</SUPPLIER_PID>
  <PRODUCT_DETAILS><DESCRIPTION_SHORT>Motor</DESCRIPTION_SHORT><MANUFACTURER_NAME>Acme</MANUFACTURER_NAME></PRODUCT_DETAILS></PRODUCT></T_NEW_CATALOG></BMECAT>`;
const SHOPIFY = 'Handle,Title,Vendor,Variant SKU\nmotor,Motor,Acme,M1\n';

for (const [type, content] of [
  ['bmecat', BMECAT],
  ['shopify-csv', SHOPIFY],
] as const)
  test(`the manufacturer of a ${type} file is the attribute Brand without a setting (§13.7 rule 4)`, async () => {
    const pipeline = await createPipeline(service(), { format: { type }, mapping: undefined });
    const task = await pipeline.upload(content);
    assert.equal(task.taskStatus, 'FINISHED', JSON.stringify(task));
    const [product] = await service().lookUp(['M1'], pipeline.projectId);
    const brand = product.facts.find(({ attribute }: { attribute: string }) => attribute === 'Brand');
    assert.equal(brand?.value, 'Acme', JSON.stringify(product));
  });
