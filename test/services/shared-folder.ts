/** Where the real servers and readers are: `MZ_SINK_SHARED`, or the folder `shared` beside the project. */
import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';

export function sharedFolder(): string {
  const folder = process.env['MZ_SINK_SHARED'] ?? resolve(import.meta.dirname, '../../../shared');
  if (!existsSync(join(folder, 'services'))) {
    throw new Error(`the interop suite needs the shared services: nothing at ${folder}; set MZ_SINK_SHARED`);
  }
  return folder;
}

export function servicesFolder(): string {
  return join(sharedFolder(), 'services');
}

/** Where the install scripts put programs; the scripts have the same default. */
export function servicesHome(): string {
  return process.env['SERVICES_HOME'] ?? join(homedir(), '.cache/mz-iceberg-sink-services');
}
