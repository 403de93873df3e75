/**
 * Where the catalog itself reads and writes: metadata files, in a local directory or an S3 bucket, with the
 * catalog's own keys. Clients never get these; what they get is made in `vending.ts`.
 */
import { open, mkdir, readFile, unlink } from 'node:fs/promises';
import { dirname } from 'node:path';
import { DeleteObjectCommand, GetObjectCommand, NoSuchKey, PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import type { CatalogEntity, StorageConfig } from './access-state.ts';
import { Refusal } from './answer.ts';

/** The catalog's own keys for S3 and STS. */
export interface StorageKeys {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
}

export interface MetadataStorage {
  /** Resolves once the bytes are durable. */
  write(catalog: CatalogEntity, location: string, text: string): Promise<void>;
  /** Rejects with 404 when there is no such file. */
  read(catalog: CatalogEntity, location: string): Promise<string>;
  remove(catalog: CatalogEntity, location: string): Promise<void>;
  close(): void;
}

export function createMetadataStorage(keys: StorageKeys | null): MetadataStorage {
  const clients = new Map<string, S3Client>();
  const clientFor = (catalog: CatalogEntity): S3Client => {
    const { storage } = catalog;
    const id = JSON.stringify([storage.endpointInternal ?? storage.endpoint, storage.region, storage.pathStyleAccess]);
    const client = clients.get(id) ?? createClient(storage, keys);
    clients.set(id, client);
    return client;
  };
  return {
    write: async (catalog, location, text) => {
      if (catalog.storage.storageType === 'FILE') return writeDurably(location, text);
      const object = { ...objectOf(location), Body: text, ContentType: 'application/json' };
      await clientFor(catalog).send(new PutObjectCommand(object));
    },
    read: async (catalog, location) => {
      if (catalog.storage.storageType === 'FILE') return readLocal(location);
      return readObject(clientFor(catalog), location);
    },
    remove: async (catalog, location) => {
      if (catalog.storage.storageType === 'FILE') return unlink(localPath(location));
      await clientFor(catalog).send(new DeleteObjectCommand(objectOf(location)));
    },
    close: () => {
      for (const client of clients.values()) client.destroy();
    },
  };
}

function createClient(storage: StorageConfig, keys: StorageKeys | null): S3Client {
  if (keys === null) {
    const remedy = 'set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY';
    throw new Refusal(500, 'ServerException', `The catalog has no storage keys: ${remedy}`);
  }
  const endpoint = storage.endpointInternal ?? storage.endpoint;
  return new S3Client({
    region: storage.region ?? 'us-east-1',
    credentials: { ...keys },
    forcePathStyle: storage.pathStyleAccess,
    ...(endpoint === null ? {} : { endpoint }),
  });
}

async function writeDurably(location: string, text: string): Promise<void> {
  const path = localPath(location);
  await mkdir(dirname(path), { recursive: true });
  // 'wx': a metadata file is never written twice. The name holds a random id, so an existing one is a mistake.
  const file = await open(path, 'wx');
  try {
    await file.writeFile(text, 'utf8');
    await file.sync();
  } finally {
    await file.close();
  }
  const directory = await open(dirname(path), 'r');
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}

/** The path as it stands: Iceberg's readers don't decode percent signs in file locations either. */
function localPath(location: string): string {
  return location.slice('file://'.length);
}

async function readLocal(location: string): Promise<string> {
  try {
    return await readFile(localPath(location), 'utf8');
  } catch (thrown) {
    if (thrown instanceof Error && 'code' in thrown && thrown.code === 'ENOENT') throw missing(location);
    throw thrown;
  }
}

async function readObject(client: S3Client, location: string): Promise<string> {
  try {
    const answer = await client.send(new GetObjectCommand(objectOf(location)));
    return await answer.Body?.transformToString('utf-8') ?? '';
  } catch (thrown) {
    if (thrown instanceof NoSuchKey) throw missing(location);
    throw thrown;
  }
}

function missing(location: string): Refusal {
  return new Refusal(404, 'NotFoundException', `Location does not exist: ${location}`);
}

export function objectOf(location: string): { readonly Bucket: string; readonly Key: string } {
  const [, bucket = '', key = ''] = /^s3:\/\/([^/]+)\/?(.*)$/s.exec(location) ?? [];
  return { Bucket: bucket, Key: key };
}
