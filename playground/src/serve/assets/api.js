// Requests. Of each kind one is under way at most: a newer one cancels it, and closing the connection stops the server's work for it.

const underWay = new Map();
let tell = () => {};

/** Sets who is told when something is under way for a while, and when nothing is. */
export function onBusy(listener) { tell = listener; }

const BUSY_AFTER = 250;
let timer = 0;
function count() {
  clearTimeout(timer);
  if (underWay.size === 0) tell(false);
  else timer = setTimeout(() => tell(underWay.size > 0), BUSY_AFTER);
}

/** Cancels everything, and says whether there was anything. */
export function cancelAll() {
  const any = underWay.size > 0;
  for (const controller of underWay.values()) controller.abort();
  underWay.clear();
  count();
  return any;
}

/** Asks; `null` if the request was cancelled. Throws an error with a message for people. */
export async function ask(kind, body) {
  underWay.get(kind)?.abort();
  const controller = new AbortController();
  underWay.set(kind, controller);
  count();
  try {
    const response = await fetch(`/api/${kind}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
      signal: controller.signal,
    });
    const answer = await response.json();
    if (!response.ok) throw new Error(answer.error?.message ?? `the server answers ${response.status}`);
    return answer;
  } catch (error) {
    if (controller.signal.aborted) return null;
    throw error instanceof TypeError ? new Error("the server can't be reached") : error;
  } finally {
    if (underWay.get(kind) === controller) underWay.delete(kind);
    count();
  }
}

export async function info() {
  const response = await fetch("/api/info");
  return response.json();
}
