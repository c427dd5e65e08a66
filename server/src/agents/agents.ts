/**
 * The door of agents: tools with which programs that speak MCP find products, request related products with
 * reasons, and see changes. They shorten the answers of the rooms to the left, and none of them changes a
 * catalog.
 */
import {
  createMcpHandler,
  fromJsonSchema,
  type McpHttpHandler,
  McpServer,
} from '@modelcontextprotocol/server';
import { type Access, allows } from '../kernel/caller.ts';
import { catalogChanges, compareProducts, findProducts, getProducts } from './product-tools.ts';
import {
  checkFit,
  explainRelation,
  listRelations,
  previewRelation,
  relatedProducts,
} from './relation-tools.ts';
import type { Tool, ToolContext } from './tool.ts';

export type { ToolContext, ToolParts } from './tool.ts';

const READING = { readOnlyHint: true, idempotentHint: true, openWorldHint: false };

const TOOLS = [
  findProducts,
  getProducts,
  relatedProducts,
  explainRelation,
  checkFit,
  compareProducts,
  listRelations,
  catalogChanges,
  previewRelation,
].map((tool) => {
  const { title, description, input, output } = tool;
  const schemas = {
    inputSchema: fromJsonSchema<object>(input),
    outputSchema: fromJsonSchema<object>(output),
  };
  return { tool, config: { title, description, ...schemas, annotations: READING } };
});

const INSTRUCTIONS =
  'Relata has the products of one shop, and rules that say which products go together and why. Find products with find_products, then call related_products with explain. Lists come in short pages: continue with nextCursor or nextOffset.';

interface AgentServerParts {
  readonly version: string;
  /** @returns the text for an agent whose question failed */
  describeFailure(error: unknown): string;
}

/** Answers one request of an agent. No state remains between two requests, so subscriptions are refused. */
export function createAgentHandler(context: ToolContext, parts: AgentServerParts): McpHttpHandler {
  // The cast is safe: each tool is registered with the schema of its own input, which the type of the list cannot
  // express.
  const answer: AnswerTool = (tool, input) => tool.answer(context, input as never);
  return createHandler(context.access, { ...parts, answer });
}

/**
 * Lists the tools once. The first list compiles the schemas of the protocol and of all tools, which takes the serving
 * thread 90 ms; later ones take 2 ms.
 */
export async function warmAgents(): Promise<void> {
  const parts = { version: '', describeFailure: String, answer: async () => ({}) };
  const { fetch } = createHandler('manage', parts);
  const headers = { accept: 'application/json, text/event-stream', 'content-type': 'application/json' };
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} });
  const response = await fetch(new Request('http://relata/mcp', { method: 'POST', headers, body }));
  await response.arrayBuffer();
}

type AnswerTool = (tool: Tool, input: unknown) => Promise<object>;

interface AnsweringParts extends AgentServerParts {
  readonly answer: AnswerTool;
}

const createHandler = (access: Access, parts: AnsweringParts): McpHttpHandler =>
  createMcpHandler(() => openServer(access, parts), { maxSubscriptions: 0 });

function openServer(access: Access, { version, describeFailure, answer }: AnsweringParts): McpServer {
  // The service sends nothing without a request, so it does not announce changes of the list of tools.
  const capabilities = { tools: { listChanged: false } };
  const server = new McpServer({ name: 'relata', version }, { instructions: INSTRUCTIONS, capabilities });
  for (const { tool, config } of TOOLS) {
    if (!allows(access, tool.access)) continue;
    server.registerTool(tool.name, config, async (input) => {
      try {
        const structuredContent = (await answer(tool, input)) as Record<string, unknown>;
        return { content: [{ type: 'text', text: JSON.stringify(structuredContent) }], structuredContent };
      } catch (error) {
        return { isError: true, content: [{ type: 'text', text: describeFailure(error) }] };
      }
    });
  }
  return server;
}
