/** Adds the routes of all rooms, with the parts that they share. */
import { apiKeyRoutes } from '../access/keys/api-key-routes.ts';
import { passkeyRoutes } from '../access/users/passkey-routes.ts';
import { sessionRoutes } from '../access/users/session-routes.ts';
import { userRoutes } from '../access/users/user-routes.ts';
import { agentRoutes } from '../agents/agent-routes.ts';
import { productRoutes } from '../catalog/browse/product-routes.ts';
import { surveyRoutes } from '../catalog/browse/survey-routes.ts';
import { lookupRoutes } from '../catalog/lookup/lookup-routes.ts';
import { ontologyRoutes } from '../catalog/ontology/ontology-routes.ts';
import { commitRoutes } from '../catalog/updates/commit-routes.ts';
import { contentRoutes } from '../catalog/updates/content-routes.ts';
import { fullUpdateRoutes } from '../catalog/updates/full-update-routes.ts';
import { updateRoutes } from '../catalog/updates/update-routes.ts';
import { feedRoutes } from '../channels/builds/feed-routes.ts';
import { channelRoutes } from '../channels/channel-definitions/channel-routes.ts';
import { ucpRoutes } from '../channels/ucp/ucp-routes.ts';
import type { Config } from '../config.ts';
import { createAnswerOnce } from '../http/answers/answers.ts';
import { createScanLimit, createSessionCookie } from '../http/guards/guards.ts';
import { serveRoot } from '../http/server/health-routes.ts';
import { type Server, serveConsole, serveDocs } from '../http/server/server.ts';
import { pipelineRoutes } from '../pipelines/pipeline-definitions/pipeline-routes.ts';
import { webhookRoutes } from '../pipelines/runs/webhook-routes.ts';
import { projectRoutes } from '../projects/project-routes.ts';
import { relatedRoutes } from '../relations/answering/related-routes.ts';
import { fitRoutes } from '../relations/fit/fit-routes.ts';
import { linkRoutes } from '../relations/links/link-routes.ts';
import { relationRoutes } from '../relations/relation-definitions/relation-routes.ts';
import { tableRoutes } from '../relations/relation-definitions/table-routes.ts';
import { categoryRoutes } from '../search/category-routes.ts';
import { searchRoutes } from '../search/search-routes.ts';
import { shopRoutes } from '../search/shop/shop-routes.ts';
import { statisticsRoutes } from '../statistics/statistics-routes.ts';
import type { BudgetTerms } from '../storage/threads/threads.ts';
import { suggestionRoutes } from '../suggestions/suggestion-routes.ts';
import { taskRoutes } from '../tasks/task-routes.ts';
import { webhookEndpointRoutes } from '../webhooks/webhook-endpoint-routes.ts';
import type { Parts } from './parts.ts';

/** Every room with routes has a line here. */
const ROUTES = [
  projectRoutes,
  apiKeyRoutes,
  sessionRoutes,
  passkeyRoutes,
  userRoutes,
  statisticsRoutes,
  taskRoutes,
  updateRoutes,
  fullUpdateRoutes,
  commitRoutes,
  contentRoutes,
  lookupRoutes,
  relatedRoutes,
  fitRoutes,
  relationRoutes,
  linkRoutes,
  tableRoutes,
  suggestionRoutes,
  productRoutes,
  categoryRoutes,
  searchRoutes,
  shopRoutes,
  surveyRoutes,
  ontologyRoutes,
  pipelineRoutes,
  webhookRoutes,
  webhookEndpointRoutes,
  agentRoutes,
  channelRoutes,
  feedRoutes,
  ucpRoutes,
];

/** Does not use the `Host` header, because the sender of a request could then choose the target of a link. */
export function baseUrlOf({ publicUrl, host, port }: Config, server?: Server): string {
  if (publicUrl !== undefined) return publicUrl;
  const bound = server?.addresses().find((address) => typeof address === 'object');
  const named = ['0.0.0.0', '::'].includes(host) ? 'localhost' : host;
  return `http://${named.includes(':') ? `[${named}]` : named}:${bound?.port ?? port}`;
}

/** Unpacking and digesting a body of the maximum size takes a second. */
const DIGESTING: BudgetTerms = { ms: 60_000, refusal: 'question_too_long' };

/** Adds the routes of all rooms. `app/app.ts` adds the routes of the service itself. */
export function addRoutes(parts: Parts, consoleFolder?: string): void {
  const { config, clock, database, server, access, version, threads } = parts;
  const { publicUrl, uploadMaxMib, sourceMaxMib } = config;
  const given = {
    ...parts,
    guards: access,
    uploadMaxMib,
    sourceMaxMib,
    findBaseUrl: () => baseUrlOf(config, server),
    cookie: createSessionCookie(publicUrl),
    attemptCookie: createSessionCookie(publicUrl, 'relata_sign_in'),
    answerOnce: createAnswerOnce(database, clock, (request, key) =>
      threads.parsers.ask('digestRequest', request, { key, terms: DIGESTING }),
    ),
    limitScans: createScanLimit(),
  };
  for (const routes of ROUTES) routes(given)(server);
  const hasConsole = serveConsole(server, consoleFolder);
  serveDocs(server);
  serveRoot(server, { version, page: hasConsole ? '/console/' : '/docs/' });
}
