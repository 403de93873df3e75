/**
 * The catalog side of the guide, step by step through the management API: catalog, principal, roles, grants, namespace.
 * In: a catalog that has just started, with its root credential. Out: the credential of a principal that may do no more
 * than the sink needs, which is what the definitions get; the root credential stays here.
 */
export const CATALOG_NAME = 'materialize_catalog';
export const NAMESPACE = 'materialize';
const SCOPE = 'PRINCIPAL_ROLE:ALL';

interface CatalogAddress {
  readonly catalogUrl: string;
  readonly managementUrl: string;
}

interface Credential {
  readonly clientId: string;
  readonly clientSecret: string;
}

/** `warehouse`: the location below which tables are, a `file://` URL. Rejects with the step that was refused. */
export async function setUpCatalog(address: CatalogAddress, root: Credential, warehouse: string): Promise<Credential> {
  const api = address.managementUrl;
  const token = await fetchToken(address.catalogUrl, root);
  const send = (method: 'POST' | 'PUT', url: string, body: object): Promise<unknown> =>
    request(method, url, token, body);

  await send('POST', `${api}/catalogs`, {
    catalog: {
      name: CATALOG_NAME,
      type: 'INTERNAL',
      properties: { 'default-base-location': warehouse },
      storageConfigInfo: { storageType: 'FILE', allowedLocations: [warehouse] },
    },
  });
  const created = await send('POST', `${api}/principals`, { principal: { name: 'materialize' } });
  const principalRole = { principalRole: { name: 'materialize_role' } };
  await send('POST', `${api}/principal-roles`, principalRole);
  await send('PUT', `${api}/principals/materialize/principal-roles`, principalRole);
  const catalogRole = { catalogRole: { name: 'materialize_writer' } };
  await send('POST', `${api}/catalogs/${CATALOG_NAME}/catalog-roles`, catalogRole);
  await send('PUT', `${api}/catalogs/${CATALOG_NAME}/catalog-roles/materialize_writer/grants`, {
    grant: { type: 'catalog', privilege: 'CATALOG_MANAGE_CONTENT' },
  });
  await send('PUT', `${api}/principal-roles/materialize_role/catalog-roles/${CATALOG_NAME}`, catalogRole);

  const { credentials } = created as { readonly credentials: Credential };
  // The namespace is made with the principal's own token: proof that its grants are enough.
  const own = await fetchToken(address.catalogUrl, credentials);
  await request('POST', `${address.catalogUrl}/v1/${CATALOG_NAME}/namespaces`, own, { namespace: [NAMESPACE] });
  return credentials;
}

/** Where the newest metadata file of a table is. */
export async function metadataLocationOf(catalogUrl: string, credential: Credential, table: string): Promise<string> {
  const token = await fetchToken(catalogUrl, credential);
  const url = `${catalogUrl}/v1/${CATALOG_NAME}/namespaces/${NAMESPACE}/tables/${table}`;
  const loaded = await request('GET', url, token, null);
  return (loaded as { readonly 'metadata-location': string })['metadata-location'];
}

async function fetchToken(catalogUrl: string, credential: Credential): Promise<string> {
  const body = new URLSearchParams({
    grant_type: 'client_credentials',
    client_id: credential.clientId,
    client_secret: credential.clientSecret,
    scope: SCOPE,
  });
  const response = await fetch(`${catalogUrl}/v1/oauth/tokens`, { method: 'POST', body });
  if (!response.ok) throw new Error(`the catalog refused a token with status ${response.status}`);
  return ((await response.json()) as { readonly access_token: string }).access_token;
}

async function request(
  method: 'GET' | 'POST' | 'PUT', url: string, token: string, body: object | null,
): Promise<unknown> {
  const response = await fetch(url, {
    method,
    headers: { 'authorization': `Bearer ${token}`, 'content-type': 'application/json' },
    ...(body !== null && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  if (!response.ok) {
    throw new Error(`the catalog refused ${method} ${new URL(url).pathname} with status ${response.status}`);
  }
  return text === '' ? null : JSON.parse(text);
}
