/** Pictures of the account over time come here with `GET /management/statistics`. */
export function Statistics() {
  return null;
}
