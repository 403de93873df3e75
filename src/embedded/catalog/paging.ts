/**
 * Pages of a list. A client that sends no `pageToken` doesn't page and gets everything; an empty token asks for
 * the first page. The token is the offset: lists here are small and sorted.
 */
import { badRequest } from './answer.ts';
import type { CatalogRequest } from './request.ts';

const DEFAULT_PAGE_SIZE = 100;

export function pageOf<Item>(
  items: readonly Item[], request: CatalogRequest,
): { readonly items: readonly Item[]; readonly nextToken: string | null } {
  const token = request.query.get('pageToken');
  if (token === null) return { items, nextToken: null };
  const start = token === '' ? 0 : Number(token);
  const size = Number(request.query.get('pageSize') ?? DEFAULT_PAGE_SIZE);
  if (!Number.isInteger(start) || start < 0 || !Number.isInteger(size) || size < 1) {
    throw badRequest('Invalid page token or page size');
  }
  const end = start + size;
  return { items: items.slice(start, end), nextToken: end < items.length ? String(end) : null };
}
