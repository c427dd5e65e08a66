import { defineConfig } from 'vite';

export default defineConfig({
  base: '/console/',
  logLevel: 'warn',
  resolve: { conditions: ['relata-source', 'module', 'browser', 'production'] },
  build: {
    target: 'es2023',
    cssTarget: ['chrome123', 'firefox120', 'safari17.5'],
    // A data: address in a style would need a hole in the policy.
    assetsInlineLimit: 0,
    // The browsers that run this preload modules by themselves.
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    // For the package, which carries what it is made of.
    license: { fileName: 'licences.json' },
    rolldownOptions: {
      // `use client` is for frameworks that render on a server.
      onLog: (level, log, handle) => void (log.code === 'MODULE_LEVEL_DIRECTIVE' || handle(level, log)),
    },
  },
  server: { proxy: { '^/(?!console/)': 'http://127.0.0.1:4810' } },
});
