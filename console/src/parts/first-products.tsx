import { type DragEvent, type ReactNode, useEffect, useId, useState } from 'react';
import { rich, t } from '../languages/text.ts';
import { useOfProject } from '../state/answers.ts';
import { useAct } from '../state/forms.ts';
import { tell } from '../state/notices.ts';
import { reread } from '../state/queries.ts';
import { useCalls, useProject, useRights } from '../state/rights.ts';
import { droppedFile, goTo, projectLink } from '../state/route.ts';
import { useSession } from '../state/session.tsx';
import { Button, LinkButton } from './button.tsx';
import { Empty, ErrorNote } from './page.tsx';
import { Code } from './show.tsx';

const WATCH_MS = 2_000;

/** An empty project offers to import a file. The table of products replaces it as soon as products arrive. */
export function FirstProducts() {
  const { canChange } = useRights();
  useArrival();
  const open = (file: File) => {
    droppedFile.give(file);
    goTo(projectLink('import'));
  };
  return (
    <Empty icon="products" title={t('No products yet')}>
      {canChange && (
        <>
          <FileDrop label={t('Drop a file with your products, or choose one')} onFile={open}>
            <span className="soft small">{t('CSV, Excel, JSON, XML, BMEcat, or an export of a shop')}</span>
          </FileDrop>
          <p>{t('You see the resulting catalog before anything is stored.')}</p>
          <ExampleButton />
        </>
      )}
      <details>
        <summary>{t('For developers')}</summary>
        <p>
          {t('Send the first products with these calls. This page shows the catalog as soon as they arrive.')}
        </p>
        <FirstCalls />
        <p className="small">
          {rich(
            '<code>npm run demo</code> starts a second service with a complete demo catalog. Example programs are in <code>examples/</code>, and a <link>pipeline</link> fetches a file automatically.',
            { link: projectLink('pipelines') },
          )}
        </p>
      </details>
    </Empty>
  );
}

/** Checks for products every two seconds, and reloads all views once there are some. */
function useArrival() {
  const { data: arrived } = useOfProject(
    ['arrival'],
    async ({ relata, projectId, signal }) =>
      (await relata.products.listTable(projectId, { limit: 1, signal })).items.length > 0,
    { refetchInterval: WATCH_MS, gcTime: 0 },
  );
  useEffect(() => {
    if (arrived) void reread('products', 'product-count', 'tasks', 'ontology');
  }, [arrived]);
}

function ExampleButton() {
  const { relata, projectId } = useCalls();
  const { run, isBusy } = useAct(async () => {
    const { loadExample } = await import('../state/example.ts');
    await loadExample(relata, projectId).then(
      () =>
        tell.good(t('The example products are loaded'), t('They include a relation, “Bits for this drill”.')),
      tell.bad,
    );
    await reread();
  });
  return (
    <Button busy={isBusy} onClick={() => void run()}>
      {t('Load example products')}
    </Button>
  );
}

/** The calls with a working key, so that they can be pasted as they are. */
export function FirstCalls() {
  const { caller, relata } = useSession();
  const project = useProject();
  const { canChange } = useRights();
  const [createdKey, setMade] = useState<string>();
  const [error, setError] = useState<unknown>();
  const key = caller?.kind === 'key' ? caller.key : createdKey;
  const make = async () => {
    const created = await relata.apiKeys.create({
      name: t('First products'),
      scope: { type: 'project', id: project.id },
      access: 'write',
    });
    setMade(created.key);
  };
  return (
    <div className="stack" style={{ width: 'min(100%, 46rem)', textAlign: 'left' }}>
      <Code label={t('Send the first products')} text={firstCall(project.id, key ?? 'YOUR-KEY')} />
      <ErrorNote error={error} />
      {key === undefined && canChange && (
        <div className="row">
          <Button icon="key" onClick={() => void make().catch(setError)}>
            {t('Create a key and use it in')}
          </Button>
          <LinkButton look="quiet" href={projectLink('api-access')}>
            {t('API access')}
          </LinkButton>
        </div>
      )}
      {createdKey !== undefined && (
        <p className="soft small">
          {t('The key “First products” is shown only now. You can delete it under API access.')}
        </p>
      )}
    </div>
  );
}

const firstCall = (
  projectId: number,
  key: string,
) => `curl -X POST '${location.origin}/products?projectId=${projectId}' \\
  -H 'Authorization: Bearer ${key}' \\
  -H 'Content-Type: application/json' \\
  -d '{"products":[{"identifier":"A1","name":"Cordless drill 18 V",
       "categories":[{"path":["Tools","Drills"]}],
       "attributes":[{"key":"Voltage","value":"18"}]}]}'`;

interface FileDropShape {
  label: string;
  children?: ReactNode;
  onFile(file: File): void;
}

/** A place to drop a file, which is also a button to choose one. */
export function FileDrop({ label, children, onFile }: FileDropShape) {
  const id = useId();
  const [isOver, setOver] = useState(false);
  const take = (files: FileList | null) => {
    const [file] = files ?? [];
    if (file !== undefined) onFile(file);
  };
  const drop = (event: DragEvent) => {
    event.preventDefault();
    setOver(false);
    take(event.dataTransfer.files);
  };
  return (
    <label
      className={isOver ? 'file-drop over' : 'file-drop'}
      htmlFor={id}
      onDragOver={(event) => {
        // Otherwise the browser would open the file in place of the console.
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={drop}
    >
      <strong>{label}</strong>
      {children}
      <span className="button">{t('Choose a file …')}</span>
      <input
        id={id}
        className="hidden"
        type="file"
        aria-label={label}
        onChange={({ target }) => {
          take(target.files);
          // Allows the same file to be chosen again.
          target.value = '';
        }}
      />
    </label>
  );
}
