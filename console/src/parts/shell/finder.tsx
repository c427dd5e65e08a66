import { type KeyboardEvent, useEffect, useId, useState } from 'react';
import { t } from '../../languages/text.ts';
import { useFoundProducts } from '../../state/catalog.ts';
import { goTo, linkTo, useRoute } from '../../state/route.ts';
import { useAsked, useProjects, useRights } from '../../state/service.tsx';
import { Icon, type IconName } from '../button.tsx';
import { Dialog } from '../page.tsx';

interface Found {
  readonly icon: IconName;
  readonly words: string;
  readonly about: string;
  readonly href: string;
}

const MOST = 12;
const PRODUCTS = 6;

/** Ctrl-K, or Cmd-K: goes to any project, page, relation or product by a few letters of it. */
export function Finder({ isOpen, onOpen, onClose }: { isOpen: boolean; onOpen(): void; onClose(): void }) {
  useEffect(() => {
    const listen = (event: globalThis.KeyboardEvent) => {
      const { key, ctrlKey, metaKey, altKey, shiftKey } = event;
      if (key.toLowerCase() !== 'k' || !(ctrlKey || metaKey) || altKey || shiftKey) return;
      event.preventDefault();
      onOpen();
    };
    addEventListener('keydown', listen);
    return () => removeEventListener('keydown', listen);
  }, [onOpen]);
  return (
    <Dialog title={t('Go to …')} isOpen={isOpen} onClose={onClose}>
      <Search onClose={onClose} />
    </Dialog>
  );
}

function Search({ onClose }: { onClose(): void }) {
  const id = useId();
  const [words, setWords] = useState('');
  const [chosenAt, setChosenAt] = useState(0);
  const found = useFound(words);
  const at = Math.min(chosenAt, found.length - 1);
  const open = ({ href }: Found) => {
    onClose();
    goTo(href);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const chosen = found[at];
    if (step === undefined && (event.key !== 'Enter' || chosen === undefined)) return;
    event.preventDefault();
    if (step === undefined) return chosen && open(chosen);
    setChosenAt(Math.max(0, Math.min(found.length - 1, at + step)));
  };
  return (
    <div className="stack">
      <input
        className="input"
        role="combobox"
        aria-label={t('Project, page, relation or product')}
        aria-expanded="true"
        aria-autocomplete="list"
        aria-controls={id}
        aria-activedescendant={found[at] && `${id}-${at}`}
        value={words}
        onKeyDown={onKeyDown}
        onChange={({ target }) => {
          setWords(target.value);
          setChosenAt(0);
        }}
      />
      <div role="listbox" id={id} aria-label={t('Found')}>
        {found.map((one, place) => (
          // The keyboard chooses by the field above.
          <a
            key={`${one.href} ${one.about}`}
            id={`${id}-${place}`}
            className="menu-item found"
            role="option"
            tabIndex={-1}
            aria-selected={place === at}
            data-highlighted={place === at ? '' : undefined}
            href={one.href}
            onClick={onClose}
          >
            <Icon name={one.icon} />
            <span className="cut">{one.words}</span>
            <span className="soft small">{one.about}</span>
          </a>
        ))}
      </div>
      {found.length === 0 && <p className="soft">{t('Nothing has these words.')}</p>}
    </div>
  );
}

/** @returns what has all of the words in its name, pages first; products by the search of the service */
function useFound(words: string): readonly Found[] {
  const { parts } = useRoute();
  const { canChange } = useRights();
  const { data: projects = [] } = useProjects();
  const id =
    parts[0] === 'projects' && projects.some((one) => String(one.id) === parts[1]) ? parts[1] : undefined;
  const inProject = useInProject(id, words);
  const here = projects.find((one) => String(one.id) === id)?.name ?? '';
  const listed = [
    ...(id === undefined ? [] : listProjectPlaces(id)).map(toFound(here)),
    ...(id === undefined ? [] : listActions(id, canChange)).map(toFound(here)),
    ...inProject.relations,
    ...listAccountPlaces().map(toFound('')),
    ...projects.map(({ id: one, name }) => toFound(t('Project'))(['projects', name, 'projects', one])),
  ];
  const typed = words.toLowerCase().split(/\s+/);
  const fitting = listed.filter((one) => typed.every((word) => one.words.toLowerCase().includes(word)));
  return [...fitting.slice(0, MOST), ...inProject.products];
}

const toFound =
  (about: string) =>
  ([icon, words, ...place]: Place): Found => ({ icon, words, about, href: linkTo(...place) });

function useInProject(id: string | undefined, words: string) {
  const projectId = Number(id);
  const { data: relations = [] } = useAsked(
    ['relations', projectId],
    ({ relata, signal }) => relata.relations.list(projectId, { signal }),
    { enabled: id !== undefined },
  );
  const isEnabled = id !== undefined && words.trim() !== '';
  const found = useFoundProducts(projectId, { words, limit: PRODUCTS, isEnabled });
  const products = found.isPlaceholderData ? [] : (found.data ?? []);
  return {
    relations: relations.map(({ id: relationId, name }) =>
      toFound(t('Relation'))(['relations', name, 'projects', projectId, 'relations', relationId]),
    ),
    products: products.map(({ identifier, name }) =>
      toFound(identifier)(['products', name, 'projects', projectId, 'products', identifier]),
    ),
  };
}

/** A page: its icon, its name, and where it is. */
export type Place = readonly [icon: IconName, words: string, ...place: (string | number)[]];

export const listAccountPlaces = (): readonly Place[] => [
  ['projects', t('Projects'), 'projects'],
  ['overview', t('Operations'), 'operations'],
  ['log', t('Audit log'), 'audit-log'],
];

export const listProjectPlaces = (id: string): readonly Place[] => [
  ['start', t('Start'), 'projects', id],
  ['products', t('Products'), 'projects', id, 'products'],
  ['ontology', t('Attributes'), 'projects', id, 'ontology'],
  ['relations', t('Relations'), 'projects', id, 'relations'],
  ['fit', t('Does it fit?'), 'projects', id, 'fit'],
  ['suggestions', t('Suggestions'), 'projects', id, 'suggestions'],
  ['pipelines', t('Pipelines'), 'projects', id, 'pipelines'],
  ['channels', t('Channels'), 'projects', id, 'channels'],
  ['updates', t('Updates'), 'projects', id, 'updates'],
  ['events', t('Events'), 'projects', id, 'events'],
  ['key', t('API access'), 'projects', id, 'api-access'],
  ['settings', t('Settings'), 'projects', id, 'settings'],
];

/** What can be asked and begun from anywhere in a project. */
export const listActions = (id: string, canChange: boolean): readonly Place[] => {
  const asked: Place = ['relations', t('Why, or why not?'), 'projects', id, 'why'];
  if (!canChange) return [asked];
  return [
    asked,
    ['plus', t('New relation'), 'projects', id, 'relations', 'new'],
    ['plus', t('New pipeline'), 'projects', id, 'pipelines', 'new'],
    ['plus', t('Import a file'), 'projects', id, 'import'],
  ];
};
