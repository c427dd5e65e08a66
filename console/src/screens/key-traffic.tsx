/** Requests and refusals of a key over time come here with `GET /management/api-keys/{id}/statistics`. */
export function KeyTraffic(_: { keyId: number; name: string }) {
  return <span className="soft">–</span>;
}
