import { defineConfig } from 'vite';

export default defineConfig({
  base: '/console/',
  logLevel: 'warn',
  resolve: { conditions: ['relata-source', 'module', 'browser', 'production'] },
  build: {
    target: 'es2023',
    cssTarget: ['chrome123', 'firefox120', 'safari17.5'],
    // The policy of the console does not allow a data: address in a style.
    assetsInlineLimit: 0,
    // The browsers that this build supports preload modules themselves.
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    // For the package, which contains the licences of its dependencies.
    license: { fileName: 'licences.json' },
    rolldownOptions: {
      // `use client` is for frameworks that render on a server.
      onLog: (level, log, handle) => void (log.code === 'MODULE_LEVEL_DIRECTIVE' || handle(level, log)),
    },
  },
  server: { proxy: { '^/(?!console/)': 'http://127.0.0.1:4810' } },
});
