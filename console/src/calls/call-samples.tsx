import { type KeyboardEvent, useId, useState } from 'react';
import { rich, t } from '../languages/text.ts';
import { SelectField } from '../parts/forms/field.tsx';
import { Answer } from '../parts/page.tsx';
import { Code } from '../parts/show.tsx';
import { useRelations } from '../state/catalog.ts';
import { projectLink, useRoute } from '../state/route.ts';
import { listPageCalls, type PageCall, SAMPLES, type SampleLanguage } from './page-calls.ts';
import { needsRelations } from './paged.ts';

const LANGUAGES = Object.keys(SAMPLES) as SampleLanguage[];

/** The calls of the current page, each in three languages. */
export function CallSamples() {
  const route = useRoute();
  const isNeeded = needsRelations(route);
  const relations = useRelations(isNeeded);
  const [chosen, setChosen] = useState(0);
  return (
    <Answer of={isNeeded ? relations : { data: [], error: undefined }}>
      {(relations) => {
        const calls = listPageCalls(route, relations);
        const call = calls[chosen] ?? calls[0];
        if (call === undefined)
          return <p className="soft">{t('This page does not show any stored data yet.')}</p>;
        return (
          <div className="stack">
            {calls.length > 1 && (
              <SelectField
                label={t('What it returns')}
                choices={calls.map(({ words }, index) => [String(index), words])}
                value={String(calls.indexOf(call))}
                onChange={(value) => setChosen(Number(value))}
              />
            )}
            <LanguageTabs call={call} />
            <p className="soft small">
              {rich(
                'It reads the address of the service from <code>RELATA_URL</code> and a key from <code>RELATA_API_KEY</code>. Keys are under <link>API access</link>.',
                { link: projectLink('api-access') },
              )}
            </p>
          </div>
        );
      }}
    </Answer>
  );
}

/** The tab component of the library would add 3 KB. Arrow keys select a tab, as in the library. */
function LanguageTabs({ call }: { call: PageCall }) {
  const id = useId();
  const [chosen, choose] = useState<SampleLanguage>('curl');
  const onKeyDown = ({ key, currentTarget }: KeyboardEvent) => {
    const step = { ArrowRight: 1, ArrowLeft: LANGUAGES.length - 1 }[key];
    if (step === undefined) return;
    const next = (LANGUAGES.indexOf(chosen) + step) % LANGUAGES.length;
    choose(LANGUAGES[next] ?? chosen);
    currentTarget.querySelectorAll('button')[next]?.focus();
  };
  return (
    <div className="stack">
      <div className="tabs" role="tablist" aria-label={t('Language of the sample')} onKeyDown={onKeyDown}>
        {LANGUAGES.map((language) => (
          <button
            key={language}
            type="button"
            role="tab"
            id={`${id}-${language}`}
            className="tab"
            aria-selected={language === chosen}
            aria-controls={`${id}-panel`}
            tabIndex={language === chosen ? 0 : -1}
            onClick={() => choose(language)}
          >
            {language}
          </button>
        ))}
      </div>
      <div role="tabpanel" id={`${id}-panel`} aria-labelledby={`${id}-${chosen}`}>
        <Code text={SAMPLES[chosen](call)} label={`${call.words}: ${chosen}`} />
      </div>
    </div>
  );
}
