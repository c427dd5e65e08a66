/**
 * The door of docs: the OpenAPI document and the page to read it, both made of the routes' schemas.
 */
export { describeServer, documentServer, serveDocuments } from './openapi.ts';
