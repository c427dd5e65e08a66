// runs: deep (not on postgres: the output of a format; channel-related.test.ts covers relations)
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { ETIM_FIELDS } from '../../src/formats/etim-xchange/etim-fields.ts';
import {
  type ChannelProject,
  createChannelProject,
  FITS,
  sold,
} from '../support/channels/channel-project.ts';
import { readAll } from '../support/formats/format-reading.ts';
import { shareService } from '../support/shared-service.ts';
import type { TestService } from '../support/test-service.ts';

/** Import, export and import again (§13.7 rule 11, §16.7 rule 6). */
let service: TestService;
shareService({}, async (started) => {
  service = started;
});

/**
 * The files of the standard are not in the repository. If the machine has them, `etim-xchange/` in `RELATA_TEST_DATA`
 * contains the schema and the sample of 2BABV/product-data-openapi.
 */
const folder = join(process.env.RELATA_TEST_DATA ?? join('..', 'shared', 'data'), 'etim-xchange');
const official = (kind: string): string | undefined => {
  const name = existsSync(folder)
    ? readdirSync(folder).find((fileName) => fileName.includes(kind))
    : undefined;
  return name && readFileSync(join(folder, name), 'utf8');
};

const texts = (name: string, ...values: string[]) =>
  values.map((value, index) => ({ Language: ['en-GB', 'de-DE'][index], [name]: value }));

/** A product with every kind of content: lists in lists, features of two releases, ports, measures, prices, relations. */
const PRODUCT = {
  ProductIdentification: {
    ManufacturerName: 'Maker',
    ManufacturerProductNumber: 'M-1',
    ProductGtin: ['4006381333931'],
    UnbrandedProduct: false,
    BrandDetails: [{ BrandSeries: texts('BrandSeries', 'Line', 'Reihe') }],
  },
  ProductDetails: {
    ProductStatus: 'PLANNED WITHDRAWAL',
    ProductDescriptions: [
      { DescriptionLanguage: 'en-GB', MinimalProductDescription: 'Pipe', ProductKeyword: ['a', 'b'] },
      { DescriptionLanguage: 'de-DE', MinimalProductDescription: 'Rohr', ProductPageUrl: 'https://x.test/1' },
    ],
    WarrantyConsumer: 24,
  },
  ProductRelations: [
    {
      RelationType: 'MANDATORY',
      RelatedProducts: [
        {
          RelatedManufacturerProductNumber: 'M-2',
          RelatedProductGtin: ['40063813'],
          RelatedProductQuantity: 3,
        },
        { RelatedManufacturerProductNumber: 'M-3' },
      ],
    },
  ],
  LcaEnvironmental: {
    ThirdPartyVerification: 'none',
    DeclaredUnitUnit: 'MTQ',
    DeclaredUnitQuantity: '1.0',
    LcaReferenceLifetime: 10,
    LcaDeclaration: [
      { LifeCycleStage: 'A1-A3', LcaDeclarationIndicator: 'AGG', DeclaredUnitOdp: 2.62e-10 },
      { LifeCycleStage: 'A4', LcaDeclarationIndicator: 'MND' },
    ],
  },
  ProductAttachments: [
    {
      AttachmentType: 'ATX004',
      AttachmentDetails: [
        {
          AttachmentLanguage: ['en-GB', 'de-DE'],
          AttachmentUri: 'https://x.test/rohs.pdf',
          AttachmentDescription: texts('AttachmentDescription', 'RoHS', 'RoHS (de)'),
        },
        { AttachmentUri: 'https://x.test/reach.pdf' },
      ],
    },
    { AttachmentType: 'ATX015', AttachmentDetails: [{ AttachmentUri: 'https://x.test/1.jpg' }] },
  ],
  EtimClassification: [
    {
      EtimReleaseVersion: '10.0',
      EtimClassCode: 'EC011533',
      EtimClassVersion: 10,
      EtimFeatures: [
        { EtimFeatureCode: 'EF002169', EtimValueCode: 'EV000138' },
        { EtimFeatureCode: 'EFI06272', EtimValueNumeric: '-0.59' },
        { EtimFeatureCode: 'EF025643', EtimValueLogical: false },
        { EtimFeatureCode: 'EF023182', EtimValueRangeLower: '10', EtimValueRangeUpper: '60' },
        { EtimFeatureCode: 'EF011808', ReasonNoValue: 'UN' },
        {
          EtimFeatureCode: 'EFNL0001',
          EtimValueCode: 'EV000001',
          EtimValueDetails: texts('EtimValueDetails', 'special', 'besonders'),
        },
      ],
      EtimModellingPorts: [1, 2].map((EtimModellingPortcode) => ({
        EtimModellingPortcode,
        EtimModellingFeatures: [
          { EtimFeatureCode: 'EF000015', EtimValueNumeric: `${15 + EtimModellingPortcode}` },
          { EtimFeatureCode: 'EF000229', EtimValueNumeric: '3' },
        ],
      })),
    },
    {
      EtimReleaseVersion: '9.0',
      EtimClassCode: 'EC011533',
      EtimFeatures: [{ EtimFeatureCode: 'EF002169', EtimValueCode: 'EV000139' }],
    },
  ],
  OtherClassifications: [
    {
      ClassificationName: 'ECLASS',
      ClassificationClassCode: '27-14',
      ClassificationFeatures: [
        {
          ClassificationFeatureName: 'Current max. nom.',
          ClassificationFeatureValue1: '0.03',
          ClassificationFeatureUnit: 'A',
        },
        {
          ClassificationFeatureName: 'Range',
          ClassificationFeatureValue1: '1',
          ClassificationFeatureValue2: '5',
        },
        { ClassificationFeatureName: 'Colour', ClassificationFeatureValue1: 'red wine' },
        { ClassificationFeatureName: 'Colour', ClassificationFeatureValue1: 'blue' },
      ],
    },
  ],
  TradeItem: ['T-1', 'T-2'].map((SupplierItemNumber, index) => ({
    ItemIdentification: { SupplierItemNumber },
    ItemLogisticDetails: [
      {
        BaseItemNetLength: '96',
        BaseItemNetWidth: '5',
        NetDimensionUnit: 'CMT',
        BaseItemNetWeight: '2',
        NetWeightUnit: 'LTN',
      },
    ],
    Ordering: { OrderUnit: 'C62', MinimumOrderQuantity: '1', OrderStepSize: '1' },
    Pricing: [
      { PriceUnit: 'C62', PriceQuantity: '1', PriceOnRequest: false, GrossListPrice: `2${index}.50` },
    ],
    PackagingUnit: ['BX', 'PK'].map((PackagingTypeCode) => ({
      PackagingIdentification: { PackagingTypeCode },
      TradeItemEnclosed: [{ SupplierItemNumber, EnclosedItemQuantity: 6 }],
    })),
  })),
};

const DOCUMENT = {
  SchemaVersion: '2.0',
  CatalogueId: 'C',
  CatalogueType: 'FULL',
  CatalogueValidityStart: '2026-01-01',
  Language: ['en-GB'],
  CurrencyCode: 'GBP',
  Supplier: [{ SupplierName: 'Supplier', Product: [PRODUCT] }],
};

/** @returns the channel's output for the file, after its import by a pipeline */
async function passThrough(text: string): Promise<{ document: typeof DOCUMENT; report: unknown }> {
  const project = await createChannelProject(service);
  const root = `/management/projects/${project.projectId}`;
  const pipeline = await service.call('POST', `${root}/pipelines`, {
    body: {
      name: 'In',
      source: { type: 'upload' },
      format: { type: 'etim-xchange' },
      mode: 'full',
      trigger: { type: 'manual' },
    },
  });
  assert.equal(pipeline.status, 201, JSON.stringify(pipeline.body));
  const run = await service.call('POST', `${root}/pipelines/${pipeline.body.id}/upload`, { body: text });
  const ended = await project.done(run);
  assert.equal(ended.taskStatus, 'FINISHED', JSON.stringify(ended));
  return publish(project);
}

async function publish(project: ChannelProject, more: object = {}) {
  const channel = await project.create({ name: 'Supplier', format: { type: 'etim-xchange' }, ...more });
  const task = await project.build(channel);
  assert.equal(task.taskStatus, 'FINISHED', JSON.stringify(task));
  const document = (await (await project.fetch(channel.url)).json()) as typeof DOCUMENT;
  checkDocument(document);
  return { document, report: await project.report(task) };
}

const schema = official('Schema_V2');
const validate = schema === undefined ? undefined : openSchema().compile(JSON.parse(schema));

function openSchema() {
  const ajv = new Ajv2020({ strict: false, allErrors: true });
  ajv.addFormat('uri', (text) => URL.canParse(text) && /^[!-~]+$/.test(text) && !/[<>"{}|\\^`]/.test(text));
  ajv.addFormat('date', (text) => !Number.isNaN(Date.parse(text)));
  ajv.addFormat('email', /^\S+@\S+$/);
  return ajv;
}

function checkDocument(document: object): void {
  if (validate === undefined) return;
  assert.ok(validate(document), JSON.stringify(validate.errors?.slice(0, 5)));
}

test('a product of ETIM xChange is exported as imported, and importing it again gives the same values (§13.7 rule 11)', async () => {
  const { document } = await passThrough(JSON.stringify(DOCUMENT));
  assert.deepEqual(document.Supplier[0]?.Product, [PRODUCT]);
  assert.equal(document.CurrencyCode, 'GBP');
  const [first, again] = await Promise.all(
    [DOCUMENT, document].map((content) => readAll({ type: 'etim-xchange' }, JSON.stringify(content))),
  );
  assert.deepEqual(again?.rows[0]?.values, first?.rows[0]?.values);
  assert.deepEqual([...(first?.unread ?? [])], []);
});

test('a product has columns for features by code, measures and prices with units, and relations by type, and rows for lists of objects (§13.7 rule 11)', async () => {
  const { rows } = await readAll({ type: 'etim-xchange', language: 'de-DE' }, JSON.stringify(DOCUMENT));
  const numbers = rows[0]?.rows;
  const of = (name: string) => rows[0]?.values[name];
  assert.equal(of('name'), 'Rohr');
  assert.deepEqual(of('images'), ['https://x.test/1.jpg']);
  assert.deepEqual(of('EF002169'), ['EV000138', 'EV000139']);
  assert.deepEqual(of('EtimClassification.EtimModellingPorts.EF000015'), ['16', '17']);
  assert.deepEqual(
    numbers?.['EtimClassification.EtimModellingPorts.EF000015'],
    numbers?.['EtimClassification.EtimModellingPorts.EtimModellingPortcode'],
  );
  assert.deepEqual(of('OtherClassifications.ClassificationFeatures.Current max. nom.'), ['0.03 A']);
  assert.deepEqual(of('TradeItem.ItemLogisticDetails.BaseItemNetLength'), ['96 cm', '96 cm']);
  assert.deepEqual(of('TradeItem.Pricing.GrossListPrice'), ['20.50 GBP', '21.50 GBP']);
  assert.deepEqual(of('ProductRelations.MANDATORY'), ['M-2', 'M-3']);
  assert.deepEqual(of('ProductRelations.MANDATORY.RelatedProductQuantity'), ['3']);
});

test('links keep the quantities of related products through import, export and import (§13.7 rule 11)', async () => {
  const project = await createChannelProject(service);
  await project.load(...['M-1', 'M-2', 'M-3'].map((identifier) => sold(identifier, {})));
  const read = (text: string) => readLinks(project, text);
  const given = await read(JSON.stringify(DOCUMENT));
  const expected = '{"source":"M-1","targets":[{"identifier":"M-2","quantity":3},"M-3"]}\n';
  assert.equal(given.lines, expected);
  const { document } = await publish(project, {
    mapping: {
      'ProductIdentification.ManufacturerProductNumber': { field: 'identifier' },
      'ProductIdentification.ManufacturerName': { attribute: 'Brand' },
    },
    relations: [{ id: given.relationId, as: 'required_part' }],
  });
  const [m1] = (document.Supplier[0]?.Product ?? []) as (typeof PRODUCT)[];
  assert.deepEqual(m1?.ProductRelations, [
    {
      RelationType: 'MANDATORY',
      RelatedProducts: [
        { RelatedManufacturerProductNumber: 'M-2', RelatedProductQuantity: 3 },
        { RelatedManufacturerProductNumber: 'M-3' },
      ],
    },
  ]);
  assert.equal((await read(JSON.stringify(document))).lines, expected);
});

test('a product that names its own related products gets missing quantities from links (§16.7 rule 6)', async () => {
  const project = await createChannelProject(service);
  const named = (name: string, row: number, value: string) => ({
    key: `ProductRelations.${name}`,
    value,
    row,
  });
  const attributes = [
    { key: 'Brand', value: 'Bosch' },
    ...[named('MANDATORY', 1, 'M-2'), named('MANDATORY.RelatedProductQuantity', 1, '8')],
    named('MANDATORY', 2, 'M-3'),
  ];
  await project.load(
    sold('M-1', {}, { attributes }),
    ...['M-2', 'M-3', 'M-4'].map((identifier) => sold(identifier, {})),
  );
  const counted = ['M-2', 'M-3', 'M-4'].map((identifier) => ({ identifier, quantity: 5 }));
  const body = { kind: 'links', name: 'parts', tag: 'parts' };
  const root = `/management/projects/${project.projectId}/relations`;
  const { body: relation } = await service.call('POST', root, { body });
  const sent = await service.call('PUT', `${root}/${relation.id}/links`, {
    body: JSON.stringify({ source: 'M-1', targets: counted }),
    headers: { 'Content-Type': 'application/x-ndjson' },
  });
  await project.done(sent);
  const { document } = await publish(project, {
    mapping: {
      'ProductIdentification.ManufacturerProductNumber': { field: 'identifier' },
      'ProductIdentification.ManufacturerName': { attribute: 'Brand' },
      'ProductRelations.MANDATORY': { attribute: 'ProductRelations.MANDATORY' },
      'ProductRelations.MANDATORY.RelatedProductQuantity': {
        attribute: 'ProductRelations.MANDATORY.RelatedProductQuantity',
      },
    },
    relations: [{ id: relation.id, as: 'required_part' }],
  });
  const [m1] = (document.Supplier[0]?.Product ?? []) as (typeof PRODUCT)[];
  const parts = m1?.ProductRelations[0]?.RelatedProducts.map(
    ({ RelatedManufacturerProductNumber: name, RelatedProductQuantity: quantity }) => `${name} ${quantity}`,
  );
  assert.deepEqual(parts?.sort(), ['M-2 8', 'M-3 5', 'M-4 5']);
});

/** @returns the links that a pipeline makes from the required parts of a file */
async function readLinks(project: ChannelProject, text: string) {
  const root = `/management/projects/${project.projectId}`;
  const body = { kind: 'links', name: `parts ${performance.now()}`, tag: 'parts' };
  const { body: relation } = await service.call('POST', `${root}/relations`, { body });
  const parts = 'ProductRelations.MANDATORY';
  const { body: pipeline } = await service.call('POST', `${root}/pipelines`, {
    body: {
      name: body.name,
      source: { type: 'upload' },
      format: { type: 'etim-xchange' },
      mode: 'links',
      relationId: relation.id,
      trigger: { type: 'manual' },
      mapping: {
        source: 'ProductIdentification.ManufacturerProductNumber',
        targets: parts,
        quantity: `${parts}.RelatedProductQuantity`,
      },
    },
  });
  const run = await service.call('POST', `${root}/pipelines/${pipeline.id}/upload`, { body: text });
  const ended = await project.done(run);
  assert.equal(ended.taskStatus, 'FINISHED', JSON.stringify(ended));
  const { body: lines } = await service.call('GET', `${root}/relations/${relation.id}/links`);
  return { lines: String(lines), relationId: relation.id as number };
}

test('mapped products are exported with the fields of the standard and their related products (§16.7 rule 6)', async () => {
  const project = await createChannelProject(service);
  const drill = { Kind: 'drill', System: 'SDS', EF000015: '16', EF000229: 'x', Length: '20 cm' };
  await project.load(sold('A1', drill), sold('B1', { Kind: 'bit', System: 'SDS' }));
  await project.relate('bits', FITS);
  const mapping = {
    'ProductIdentification.ManufacturerProductNumber': { field: 'identifier' },
    'ProductIdentification.ManufacturerName': { attribute: 'Brand' },
    name: { field: 'name' },
    images: { field: 'images' },
    productUrl: { field: 'productUrl' },
    'EtimClassification.EtimReleaseVersion': { constant: '10.0' },
    'EtimClassification.EtimClassCode': { constant: 'EC011533' },
    EF000015: { attribute: 'EF000015' },
    EF000229: { attribute: 'EF000229' },
    'TradeItem.ItemIdentification.SupplierItemNumber': { field: 'identifier' },
  };
  const relations = [{ tag: 'bits', as: 'required_part' }];
  const { document, report } = await publish(project, { mapping, relations });
  const [a1, b1] = (document.Supplier[0]?.Product ?? []) as (typeof PRODUCT)[];
  assert.deepEqual(a1?.EtimClassification[0]?.EtimFeatures, [
    { EtimFeatureCode: 'EF000015', EtimValueNumeric: '16' },
  ]);
  assert.deepEqual(a1?.ProductRelations, [
    { RelationType: 'MANDATORY', RelatedProducts: [{ RelatedManufacturerProductNumber: 'B1' }] },
  ]);
  assert.deepEqual(a1?.ProductAttachments[0]?.AttachmentDetails, [
    { AttachmentUri: 'https://shop.test/i/A1.jpg' },
  ]);
  assert.equal(b1?.TradeItem, undefined);
  const lines = JSON.stringify(report);
  assert.match(lines, /EF000229 does not match the form that the format requires/);
  assert.match(lines, /TradeItem was left out: Ordering is missing/);
});

test('a field that the standard does not have is refused (§16.1)', async () => {
  const project = await createChannelProject(service);
  const body = { name: 'x', format: { type: 'etim-xchange' }, mapping: { Colour: { constant: 'red' } } };
  const { status, body: refusal } = await project.manage('POST', '', { body });
  assert.equal(status, 400);
  assert.match(JSON.stringify(refusal), /etim-xchange has no such field/);
});

const sample = official('SampleFile_V2');
const without = schema && sample ? false : 'the files of the standard are not on this machine';

test('the sample of the standard is exported valid and unchanged, except for the words of units (§16.7 rule 6)', {
  skip: without,
}, async () => {
  const given = JSON.parse(sample ?? '') as typeof DOCUMENT;
  const { document } = await passThrough(sample ?? '');
  const [before, after] = [given, document].map((content) => content.Supplier[0]?.Product[0]);
  const short = JSON.parse(JSON.stringify(before).replace('ampere (A)', 'A').replace(/ +"/g, '"'));
  assert.deepEqual(after, short);
});

test('an export can write every member of the schema (§16.7 rule 6)', { skip: without }, () => {
  const product = JSON.parse(schema ?? '').properties.Supplier.items.properties.Product.items;
  const knownFields = new Set(ETIM_FIELDS.match(/[A-Z]\w+/g));
  const missing: string[] = [];
  const visit = (node: { properties?: object; items?: object }): void => {
    for (const [name, member] of Object.entries(node.properties ?? {})) {
      if (!knownFields.has(name) && !name.endsWith('CountrySpecificExtensions')) missing.push(name);
      visit(member);
    }
    if (node.items) visit(node.items);
  };
  visit(product);
  assert.deepEqual(missing, []);
});
