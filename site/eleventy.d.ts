/** The part of Eleventy that is used here, because its package has no types. */
declare module '@11ty/eleventy' {
  export interface EleventyConfig {
    addTemplate(path: string, content: string, data: object): void;
    addFilter(name: string, filter: (value: string) => unknown): void;
    addGlobalData(name: string, value: unknown): void;
    amendLibrary(name: 'md', amend: (library: import('./markdown.ts').Markdown) => void): void;
    setUseGitIgnore(uses: boolean): void;
  }
  export class Eleventy {
    constructor(input: string, output: string, options: object);
    write(): Promise<unknown>;
  }
}
