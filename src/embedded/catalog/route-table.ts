/** Routes as a table: method, a path pattern with `:names`, and the handler that gets the named parts. */
import type { Answer } from './answer.ts';
import { Refusal, notFound } from './answer.ts';

export interface Route<Context> {
  readonly method: string;
  /** `namespaces/:namespace/tables`; compared segment by segment. */
  readonly path: string;
  readonly handle: (context: Context, parts: Readonly<Record<string, string>>) => Answer | Promise<Answer>;
}

export async function dispatch<Context>(
  routes: readonly Route<Context>[], method: string, segments: readonly string[], context: Context,
): Promise<Answer> {
  let otherMethod = false;
  for (const route of routes) {
    const parts = matchPath(route.path, segments);
    if (parts === null) continue;
    if (route.method === method) return route.handle(context, parts);
    otherMethod = true;
  }
  if (otherMethod) throw new Refusal(405, 'NotAllowedException', 'HTTP 405 Method Not Allowed');
  throw notFound('HTTP 404 Not Found');
}

/** The named part; a pattern without it is a mistake of the route table, not of the client. */
export function part(parts: Readonly<Record<string, string>>, name: string): string {
  const value = parts[name];
  if (value === undefined) throw new Error(`route has no part ${name}`);
  return value;
}

function matchPath(path: string, segments: readonly string[]): Record<string, string> | null {
  const patterns = path.split('/');
  if (patterns.length !== segments.length) return null;
  const parts: Record<string, string> = {};
  for (const [index, pattern] of patterns.entries()) {
    const segment = segments[index] ?? '';
    if (pattern.startsWith(':')) parts[pattern.slice(1)] = segment;
    else if (pattern !== segment) return null;
  }
  return parts;
}
