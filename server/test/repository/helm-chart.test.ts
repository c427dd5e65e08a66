// runs: deep (not on postgres: what a chart renders, and the paths of health checks)
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Ajv } from 'ajv';
import { parse, parseAllDocuments } from 'yaml';
import { readConfig } from '../../src/config.ts';
import { renderTemplates } from '../support/deploy/chart-template.ts';
import { shareService } from '../support/shared-service.ts';

/** Renders the chart like Helm, without Helm: chart-template.ts implements the functions that the chart uses. */

// biome-ignore lint/suspicious/noExplicitAny: a test reads manifests field by field and asserts on what it reads.
type Any = any;

const service = shareService();
const root = fileURLToPath(new URL('../../../', import.meta.url));
const CHART = join(root, 'deploy/helm/relata');
const read = (path: string) => readFileSync(join(CHART, path), 'utf8');
const schema = JSON.parse(read('values.schema.json'));
const checkValues = new Ajv({ strict: false }).compile(schema);

const LEAST = parse(read('ci/test-values.yaml'));
const ALL = {
  ...LEAST,
  image: { ...LEAST.image, tag: '0.1.0-rc.1', pullSecrets: ['registry'] },
  publicUrl: 'https://relata.example',
  trustedProxies: '10.0.0.0/8',
  settings: {
    RELATA_LOG_LEVEL: 'warn',
    RELATA_CACHE_MIB: '64',
    OTEL_EXPORTER_OTLP_ENDPOINT: 'http://otel:4318',
  },
  api: { autoscaling: { enabled: true } },
  worker: { autoscaling: { enabled: true }, replicas: 3 },
  ingress: {
    enabled: true,
    className: 'nginx',
    host: 'relata.example',
    tlsSecret: 'relata-tls',
    annotations: { 'nginx.ingress.kubernetes.io/proxy-body-size': '128m' },
  },
  podAnnotations: { 'example.com/team': 'shop' },
  nodeSelector: { disk: 'ssd' },
  tolerations: [{ key: 'shop', operator: 'Exists' }],
};
/** The test renders all of them. */
const INSTALLATIONS: Readonly<Record<string, object>> = {
  'the least': LEAST,
  'all there is': ALL,
  'a stopped installation': { ...ALL, stopped: true },
};

function merge(usual: Any, given: Any): Any {
  if (typeof usual !== 'object' || Array.isArray(usual) || typeof given !== 'object') return given ?? usual;
  const keys = new Set([...Object.keys(usual), ...Object.keys(given)]);
  return Object.fromEntries([...keys].map((key) => [key, merge(usual[key], given[key])]));
}

const templates = Object.fromEntries(
  globSync('templates/*', { cwd: CHART }).map((path) => [path, read(path)]),
);

/** The data that Helm passes to templates. */
function describeRelease(given: object): Any {
  const { name, version, appVersion } = parse(read('Chart.yaml'));
  const values = merge(parse(read('values.yaml')), given);
  assert.ok(checkValues(values), JSON.stringify(checkValues.errors));
  return {
    Values: values,
    Chart: { Name: name, Version: version, AppVersion: appVersion },
    Release: { Name: 'shop', Namespace: 'shops', Service: 'Helm' },
  };
}

/** The objects of all templates, in the order of their paths. */
function readObjects(rendered: Iterable<readonly [string, string]>): Any[] {
  return [...rendered]
    .filter(([path]) => path.endsWith('.yaml'))
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .flatMap(([, text]) =>
      parseAllDocuments(text).map((document) => {
        assert.deepEqual(document.errors, [], text);
        return document.toJS();
      }),
    );
}

const install = (given: object): Any[] => readObjects(renderTemplates(templates, describeRelease(given)));
const ofKind = (objects: Any[], kind: string) => objects.filter((object) => object.kind === kind);
const containerOf = (deployment: Any) => deployment.spec.template.spec.containers[0];
const includes = (labels: object, wanted: object) =>
  Object.entries(wanted).every(([key, value]) => (labels as Any)[key] === value);

/** Types from Kubernetes' own description of its objects, by kind. */
const TYPES: Readonly<Record<string, string>> = {
  Deployment: 'apps/v1/Deployment',
  HorizontalPodAutoscaler: 'autoscaling/v2/HorizontalPodAutoscaler',
  Ingress: 'networking.k8s.io/v1/Ingress',
  PodDisruptionBudget: 'policy/v1/PodDisruptionBudget',
  Service: 'v1/Service',
};

/** @returns the compiler's errors for objects as literals of their types: it finds missing, wrong and unknown fields */
async function listWrongFields(t: TestContext, objects: Any[]): Promise<string[]> {
  const folder = await mkdtemp(join(tmpdir(), 'relata-chart-'));
  t.after(() => rm(folder, { recursive: true }));
  const lines = objects.map((object, index) => {
    const path = TYPES[object.kind] ?? assert.fail(`no type of ${object.kind}`);
    assert.equal(`${object.apiVersion}/${object.kind}`, path);
    const type = `import('kubernetes-models/${path}').I${object.kind}`;
    return `export const object${index}: ${type} = ${JSON.stringify(object)};`;
  });
  await writeFile(join(folder, 'objects.ts'), lines.join('\n'));
  await symlink(join(root, 'node_modules'), join(folder, 'node_modules'));
  const options =
    '--noEmit --strict --skipLibCheck --module nodenext --target es2024 --ignoreConfig objects.ts'.split(' ');
  const tsc = join(root, 'node_modules/typescript/bin/tsc');
  const { stdout } = spawnSync(process.execPath, [tsc, ...options], { cwd: folder, encoding: 'utf8' });
  return stdout.split('\n').filter((line) => line.startsWith('objects.ts'));
}

test("Kubernetes accepts every field of the chart's objects", async (t) => {
  const objects = Object.values(INSTALLATIONS).flatMap(install);
  const [{ spec, ...rest }] = objects;
  const wrong = [
    { ...rest, spec: { ...spec, replica: 2 } },
    { ...rest, spec: { ...spec, replicas: 'two' } },
    { ...rest, spec: { replicas: 2 } },
  ];
  const faults = await listWrongFields(t, [...objects, ...wrong]);
  const indexes = faults.map((line) => Number(/^objects\.ts\((\d+),/.exec(line)?.[1]) - 1 - objects.length);
  assert.deepEqual(indexes, [0, 1, 2], faults.join('\n'));
});

for (const [name, given] of Object.entries(INSTALLATIONS)) {
  test(`the chart makes objects that fit together: ${name}`, () => {
    const objects = install(given);
    const names = objects.map(({ kind, metadata }) => `${kind} ${metadata.name}`);
    assert.equal(new Set(names).size, names.length, `${names}`);
    const deployments = ofKind(objects, 'Deployment');
    assert.deepEqual(
      deployments.map(({ metadata }) => metadata.name),
      ['shop-api', 'shop-worker'],
    );
    for (const { spec } of deployments) {
      const { labels } = spec.template.metadata;
      assert.ok(includes(labels, spec.selector.matchLabels));
      const [spread] = spec.template.spec.topologySpreadConstraints;
      assert.deepEqual(spread.labelSelector, spec.selector);
    }
    const podsOf = (selector: object) =>
      deployments.filter(({ spec }) => includes(spec.template.metadata.labels, selector));
    const budgets = ofKind(objects, 'PodDisruptionBudget').map(({ spec }) =>
      podsOf(spec.selector.matchLabels),
    );
    assert.deepEqual(
      budgets,
      deployments.map((deployment) => [deployment]),
    );
    const [front] = ofKind(objects, 'Service');
    assert.deepEqual(podsOf(front.spec.selector), [deployments[0]], 'workers answer no requests');
    const [port] = containerOf(deployments[0]).ports;
    assert.equal(front.spec.ports[0].targetPort, port.name);
    for (const { spec } of ofKind(objects, 'Ingress')) {
      const { service: backend } = spec.rules[0].http.paths[0].backend;
      assert.deepEqual(backend, { name: front.metadata.name, port: { name: front.spec.ports[0].name } });
    }
    for (const { spec, metadata } of ofKind(objects, 'HorizontalPodAutoscaler')) {
      assert.equal(spec.scaleTargetRef.name, metadata.name);
      const target = deployments.find((deployment) => deployment.metadata.name === metadata.name);
      assert.equal(target?.spec.replicas, undefined, 'an upgrade would revert the scaling');
    }
  });
}

test('values set autoscaling, the ingress and the stop before an upgrade', () => {
  const kinds = (given: object) => install(given).map(({ kind }) => kind);
  assert.deepEqual(kinds(LEAST), [
    'Deployment',
    'PodDisruptionBudget',
    'Service',
    'Deployment',
    'PodDisruptionBudget',
  ]);
  assert.equal(kinds(ALL).filter((kind) => kind === 'HorizontalPodAutoscaler').length, 2);
  const replicas = (given: object) => ofKind(install(given), 'Deployment').map(({ spec }) => spec.replicas);
  assert.deepEqual(replicas(LEAST), [2, 2]);
  const stopped = { ...ALL, stopped: true };
  assert.deepEqual(replicas(stopped), [0, 0]);
  assert.ok(!kinds(stopped).includes('HorizontalPodAutoscaler'), 'the upgrade would start them again');
  const [ingress] = ofKind(install(ALL), 'Ingress');
  assert.deepEqual(ingress.spec.tls, [{ secretName: 'relata-tls', hosts: ['relata.example'] }]);
});

test('containers start the service correctly, with settings that it has', () => {
  const dockerfile = readFileSync(join(root, 'Dockerfile'), 'utf8');
  for (const deployment of ofKind(install(ALL), 'Deployment')) {
    const { args, env, ports, image } = containerOf(deployment);
    assert.deepEqual(args, ['serve', '--role', deployment.metadata.name.replace('shop-', '')]);
    assert.equal(image, 'registry.example/relata:0.1.0-rc.1');
    assert.match(dockerfile, new RegExp(`^EXPOSE ${ports[0].containerPort}$`, 'm'));
    const names = env.map(({ name }: Any) => name);
    assert.equal(new Set(names).size, names.length);
    const secret = 'a'.repeat(32);
    const given = Object.fromEntries(env.map(({ name, value }: Any) => [name, value ?? secret]));
    given.RELATA_SECRET_KEYS = Buffer.alloc(32).toString('base64');
    const config = readConfig(given);
    assert.equal(config.database?.url, LEAST.database.url);
    assert.deepEqual([config.logLevel, config.cacheMib], ['warn', 64]);
    assert.deepEqual([config.publicUrl, config.trustedProxies], ['https://relata.example', ['10.0.0.0/8']]);
  }
  const { appVersion } = parse(read('Chart.yaml'));
  assert.equal(appVersion, JSON.parse(readFileSync(join(root, 'server/package.json'), 'utf8')).version);
  const [api] = ofKind(install(LEAST), 'Deployment');
  assert.equal(containerOf(api).image, `registry.example/relata:${appVersion}`);
});

test('secrets are referenced by name and never written', () => {
  const objects = install(ALL);
  assert.deepEqual(ofKind(objects, 'Secret'), []);
  const { existingSecret, ...keys } = describeRelease(ALL).Values.secrets;
  for (const deployment of ofKind(objects, 'Deployment')) {
    const secrets = containerOf(deployment).env.filter(({ name }: Any) => /PASSWORD|KEY|SECRET/.test(name));
    const references = secrets.map(({ valueFrom }: Any) => valueFrom.secretKeyRef);
    assert.deepEqual(references.map(({ key }: Any) => key).sort(), Object.values(keys).sort());
    for (const { name } of references) assert.equal(name, existingSecret);
  }
  const refused = [
    { ...LEAST, database: { url: 'postgres://relata:password@db.example/relata' } },
    { ...LEAST, settings: { RELATA_ACCOUNT_KEY: 'a'.repeat(32) } },
    { ...LEAST, settings: { PGPASSWORD: 'a' } },
    { ...LEAST, settings: { RELATA_OIDC_CLIENT_SECRET: 'a' } },
    { ...LEAST, image: {} },
    { ...LEAST, secrets: {} },
    { ...LEAST, replicas: 3 },
    { ...LEAST, ingress: { enabled: true } },
  ];
  for (const given of refused) {
    assert.ok(!checkValues(merge(parse(read('values.yaml')), given)), JSON.stringify(given));
  }
});

test('containers have no privileges and write only where the service does', () => {
  const dockerfile = readFileSync(join(root, 'Dockerfile'), 'utf8');
  const [, dataDir] = /RELATA_DATA_DIR=(\S+)/.exec(dockerfile) ?? [];
  for (const deployment of ofKind(install(LEAST), 'Deployment')) {
    const { spec } = deployment.spec.template;
    const { securityContext: pod, volumes, automountServiceAccountToken } = spec;
    assert.deepEqual([pod.runAsNonRoot, pod.runAsUser, pod.fsGroup], [true, 1000, 1000]);
    assert.deepEqual([pod.seccompProfile.type, automountServiceAccountToken], ['RuntimeDefault', false]);
    const { securityContext, volumeMounts, resources } = containerOf(deployment);
    assert.deepEqual(securityContext, {
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    });
    assert.deepEqual(
      volumeMounts.map(({ mountPath }: Any) => mountPath),
      [dataDir, '/tmp'],
    );
    assert.deepEqual(
      volumeMounts.map(({ name }: Any) => name),
      volumes.map(({ name }: Any) => name),
    );
    assert.ok(resources.requests.cpu, 'autoscaling measures the used share');
    assert.ok(resources.limits.memory);
  }
});

test('the probes request paths that the service answers without a key', async () => {
  for (const deployment of ofKind(install(LEAST), 'Deployment')) {
    const { startupProbe, livenessProbe, readinessProbe, ports } = containerOf(deployment);
    assert.equal(livenessProbe.httpGet.path, '/health/live', 'a start that migrates must not be ended');
    for (const { httpGet } of [startupProbe, livenessProbe, readinessProbe]) {
      assert.equal(httpGet.port, ports[0].name);
      assert.equal((await service().call('GET', httpGet.path, { key: null })).status, 200);
    }
  }
});

test('the notes name the objects that the chart made', () => {
  for (const given of Object.values(INSTALLATIONS)) {
    const notes = renderTemplates(templates, describeRelease(given)).get('templates/NOTES.txt') ?? '';
    const names = install(given).map(({ kind, metadata }) => `${kind.toLowerCase()}/${metadata.name}`);
    for (const [named] of notes.matchAll(/(?:deployment|service)\/\S+/g))
      assert.ok(names.includes(named), notes);
    assert.match(notes, /^Relata (?:starts|is stopped)/);
  }
});

test('the engine of Helm renders the same templates', (t) => {
  const sprig = 'src/github.com/Masterminds/sprig';
  const goPath = '/usr/share/gocode';
  if (!existsSync(join(goPath, sprig))) return t.skip('golang-github-masterminds-sprig-dev is not installed');
  const program = fileURLToPath(new URL('../support/deploy/render-chart.go', import.meta.url));
  const releases = Object.values(INSTALLATIONS).map(describeRelease);
  const { error, stdout, stderr } = spawnSync('go', ['run', program], {
    input: JSON.stringify({ templates, releases }),
    encoding: 'utf8',
    env: { ...process.env, GO111MODULE: 'off', GOPATH: goPath, GOFLAGS: '' },
  });
  if (error) return t.skip('Go is not installed');
  assert.equal(stderr, '');
  const rendered: Record<string, string>[] = JSON.parse(stdout);
  assert.equal(rendered.length, releases.length);
  for (const [index, texts] of rendered.entries()) {
    const ours = renderTemplates(templates, releases[index] ?? {});
    assert.deepEqual(readObjects(Object.entries(texts)), readObjects(ours));
    assert.equal(texts['templates/NOTES.txt'], ours.get('templates/NOTES.txt'));
  }
});
