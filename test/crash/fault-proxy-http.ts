/**
 * A proxy in front of one HTTP server that does to requests and answers what networks, gateways and dying servers do.
 *
 * In: whole requests, forwarded byte for byte with their Host header, which SigV4 signs. Out: the server's answer, or a
 * fault that `decide` asked for. A request is read whole before anything is done with it, so every fault is exactly one of
 * "the server never saw it", "the server saw half of it" and "the server did it and the answer is another matter".
 */
import { Agent, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse, createServer, request } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { type Answer, type Operation, type Service, operationOf, refusal } from './http-operations.ts';

export type HttpFault =
  /** The connection is reset; the server never sees the request, or has carried it out. */
  | { readonly kind: 'reset-before' | 'reset-after' }
  /** Nobody answers for a while, then the connection is reset. */
  | { readonly kind: 'silent-before' | 'silent-after'; readonly forMs: number }
  | { readonly kind: 'delay-before' | 'delay-after'; readonly forMs: number }
  /** Reset at once, and carried out long after the client has gone on. */
  | { readonly kind: 'late'; readonly forMs: number }
  /** The server gets half of the body and then a broken connection. */
  | { readonly kind: 'cut-request' }
  /** The client gets the head, a part of the body, and then a broken connection. */
  | { readonly kind: 'cut-answer'; readonly fraction: number }
  | { readonly kind: 'status-before' | 'status-after'; readonly status: number; readonly retryAfterSeconds: number | null }
  /** For a while every load of this table is answered with what an earlier one was answered with. */
  | { readonly kind: 'stale'; readonly fraction: number; readonly forMs: number };

export interface Exchange {
  readonly service: Service;
  readonly operation: Operation;
  readonly method: string;
  readonly target: string;
}

/** begun: its head has come. received: all of it. applied: the server has answered. answered: the client has it. */
export type Stage = 'begun' | 'received' | 'applied' | 'answered';

export interface HttpProxyOptions {
  readonly service: Service;
  readonly upstreamPort: number;
  readonly port: number;
  readonly decide: (exchange: Exchange) => HttpFault | null;
  /** Called before anything else happens at that stage. At `received` it may put another fault in the place of the decided one. */
  readonly watch: (exchange: Exchange, stage: Stage) => HttpFault | null;
  readonly count: (fault: string) => void;
}

export interface HttpProxy {
  readonly url: string;
  /** refuse: every connection is reset. hang: nobody answers. Both hold until `up`. */
  setReach(reach: 'up' | 'refuse' | 'hang'): void;
  /** No faults from here on; whatever is held or stale is let go. */
  heal(): void;
  /** Faults as `decide` has them. */
  hurt(): void;
  close(): Promise<void>;
}

interface Kept {
  readonly answers: Answer[];
  stale: { readonly answer: Answer; readonly untilMs: number } | null;
}

interface Proxy {
  readonly options: HttpProxyOptions;
  readonly agent: Agent;
  readonly wakers: Set<() => void>;
  /** Loads by path. */
  readonly loads: Map<string, Kept>;
  readonly sockets: Set<Socket>;
  isHurting: boolean;
  reach: 'up' | 'refuse' | 'hang';
}

const KEPT_ANSWERS = 12;
/** Hop by hop, or set anew for the body as it is sent on. */
const DROPPED_HEADERS: ReadonlySet<string> = new Set(['connection', 'keep-alive', 'transfer-encoding', 'expect', 'content-length']);

export async function openHttpProxy(options: HttpProxyOptions): Promise<HttpProxy> {
  const proxy: Proxy = {
    options, agent: new Agent({ keepAlive: true }), wakers: new Set(), loads: new Map(), sockets: new Set(), isHurting: false, reach: 'up',
  };
  const server = createServer((incoming, outgoing) => {
    serve(proxy, incoming, outgoing).catch((thrown: unknown) => {
      options.count(`proxy-failed: ${String(thrown)}`);
      reset(incoming.socket);
    });
  });
  server.on('connection', (socket) => {
    if (proxy.reach === 'refuse') {
      reset(socket);
      return;
    }
    proxy.sockets.add(socket);
    socket.on('error', () => undefined);
    socket.once('close', () => proxy.sockets.delete(socket));
  });
  server.on('clientError', (_error, socket) => socket.destroy());
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(options.port, '127.0.0.1', () => resolve());
  });
  const { port } = server.address() as AddressInfo;
  const wakeAll = (): void => {
    for (const wake of proxy.wakers) wake();
  };
  return {
    url: `http://127.0.0.1:${port}`,
    setReach: (reach) => {
      proxy.reach = reach;
      // Connections of before would go on as if nothing had happened, or hang on when all is well again.
      for (const socket of proxy.sockets) if (reach !== 'hang') reset(socket);
      if (reach === 'up') wakeAll();
    },
    heal: () => {
      proxy.isHurting = false;
      proxy.loads.clear();
      wakeAll();
    },
    hurt: () => { proxy.isHurting = true; },
    close: async () => {
      wakeAll();
      for (const socket of proxy.sockets) socket.destroy();
      proxy.agent.destroy();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

async function serve(proxy: Proxy, incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
  const { options } = proxy;
  const { method = 'GET', url: target = '/' } = incoming;
  const exchange: Exchange = { service: options.service, operation: operationOf(options.service, method, target), method, target };
  outgoing.on('error', () => undefined);
  options.watch(exchange, 'begun');
  const body = await wholeBody(incoming);
  // The client died within its request: the server sees a part of it, as it would have without us.
  if (body.bytes === null) {
    if (body.partial.length > 0 && proxy.reach === 'up') await forwardHalf(proxy, incoming, body.partial);
    return;
  }
  if (proxy.reach === 'hang') {
    await pause(proxy, Number.POSITIVE_INFINITY);
    reset(incoming.socket);
    return;
  }
  const decided = proxy.isHurting ? options.decide(exchange) : null;
  const fault = applicable(options.watch(exchange, 'received') ?? decided, body.bytes);
  if (fault !== null && fault.kind !== 'stale') options.count(`${options.service} ${nameOf(fault)}`);
  await carryOut({ proxy, exchange, incoming, outgoing, body: body.bytes }, fault);
}

interface Call {
  readonly proxy: Proxy;
  readonly exchange: Exchange;
  readonly incoming: IncomingMessage;
  readonly outgoing: ServerResponse;
  readonly body: Buffer;
}

async function carryOut(call: Call, fault: HttpFault | null): Promise<void> {
  const { proxy, exchange, incoming } = call;
  switch (fault?.kind) {
    case 'reset-before':
      reset(incoming.socket);
      return;
    case 'silent-before':
      await pause(proxy, fault.forMs);
      reset(incoming.socket);
      return;
    case 'late':
      reset(incoming.socket);
      await pause(proxy, fault.forMs);
      await forward(call);
      return;
    case 'cut-request':
      await forwardHalf(proxy, incoming, call.body.subarray(0, Math.ceil(call.body.length / 2)));
      reset(incoming.socket);
      return;
    case 'status-before':
      send(call, refusal(exchange.service, fault.status, fault.retryAfterSeconds), 1);
      return;
    case 'delay-before':
      await pause(proxy, fault.forMs);
      break;
    default:
  }
  const answer = staleAnswer(call, fault) ?? await forward(call);
  if (answer === null) {
    reset(incoming.socket);
    return;
  }
  await passOn(call, answer, fault);
}

async function passOn(call: Call, answer: Answer, fault: HttpFault | null): Promise<void> {
  const { proxy, exchange, incoming } = call;
  switch (fault?.kind) {
    case 'reset-after':
      reset(incoming.socket);
      return;
    case 'silent-after':
      await pause(proxy, fault.forMs);
      reset(incoming.socket);
      return;
    case 'status-after':
      send(call, refusal(exchange.service, fault.status, fault.retryAfterSeconds), 1);
      return;
    case 'cut-answer':
      send(call, answer, fault.fraction);
      return;
    case 'delay-after':
      await pause(proxy, fault.forMs);
      break;
    default:
  }
  send(call, answer, 1);
  proxy.options.watch(exchange, 'answered');
}

/** A fault that there is nothing to do to is none, so that it isn't counted. */
function applicable(fault: HttpFault | null, body: Buffer): HttpFault | null {
  return fault?.kind === 'cut-request' && body.length < 2 ? null : fault;
}

function nameOf(fault: HttpFault): string {
  return 'status' in fault ? `${fault.kind} ${fault.status}` : fault.kind;
}

/** The answer of an earlier load while one is being replayed; null where the server has to be asked. */
function staleAnswer({ proxy, exchange }: Call, fault: HttpFault | null): Answer | null {
  if (exchange.operation !== 'load') return null;
  const kept = proxy.loads.get(exchange.target);
  if (kept === undefined) return null;
  if (fault?.kind === 'stale' && kept.stale === null) {
    const answer = kept.answers[Math.floor(fault.fraction * kept.answers.length)];
    if (answer !== undefined) kept.stale = { answer, untilMs: performance.now() + fault.forMs };
  }
  if (kept.stale === null) return null;
  if (performance.now() > kept.stale.untilMs) {
    kept.stale = null;
    return null;
  }
  proxy.options.count(`${exchange.service} stale`);
  return kept.stale.answer;
}

function keep({ proxy, exchange }: Call, answer: Answer): void {
  if (exchange.operation !== 'load' || answer.status !== 200) return;
  const kept = proxy.loads.get(exchange.target) ?? { answers: [], stale: null };
  kept.answers.push(answer);
  if (kept.answers.length > KEPT_ANSWERS) kept.answers.shift();
  proxy.loads.set(exchange.target, kept);
}

/** Sends the request on. null where the server can't be reached or its answer can't be read whole. */
async function forward(call: Call): Promise<Answer | null> {
  const { proxy, incoming, body } = call;
  const answer = await new Promise<Answer | null>((resolve) => {
    const upstream = openUpstream(proxy, incoming, body.length, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', () => resolve(null));
      response.on('aborted', () => resolve(null));
      response.on('end', () => resolve({ status: response.statusCode ?? 502, headers: passable(response.headers), body: Buffer.concat(chunks) }));
    });
    upstream.on('error', () => resolve(null));
    upstream.end(body);
  });
  if (answer === null) return null;
  keep(call, answer);
  proxy.options.watch(call.exchange, 'applied');
  return answer;
}

/** Half of a request, and then the connection is gone. */
function forwardHalf(proxy: Proxy, incoming: IncomingMessage, part: Buffer): Promise<void> {
  const declared = Math.max(Number(incoming.headers['content-length'] ?? 0), part.length + 1);
  return new Promise((resolve) => {
    const upstream = openUpstream(proxy, incoming, declared, (response) => response.resume());
    upstream.on('error', () => resolve());
    upstream.write(part, () => {
      upstream.destroy();
      resolve();
    });
  });
}

function openUpstream(proxy: Proxy, incoming: IncomingMessage, contentLength: number, onAnswer: (response: IncomingMessage) => void) {
  const length = incoming.method === 'GET' || incoming.method === 'HEAD' ? {} : { 'content-length': String(contentLength) };
  return request({
    host: '127.0.0.1', port: proxy.options.upstreamPort, agent: proxy.agent, method: incoming.method ?? 'GET', path: incoming.url ?? '/',
    headers: { ...passable(incoming.headers), ...length },
  }, onAnswer);
}

function passable(headers: IncomingHttpHeaders): Record<string, string | string[]> {
  const kept: Record<string, string | string[]> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined && !DROPPED_HEADERS.has(name)) kept[name] = value;
  }
  return kept;
}

/** `fraction` of the body below 1: the length of all of it is announced, and the connection ends within. */
function send({ incoming, outgoing }: Call, answer: Answer, fraction: number): void {
  if (outgoing.destroyed) return;
  const isBodiless = incoming.method === 'HEAD' || answer.status === 204 || answer.status === 304;
  const headers = { ...answer.headers, ...(isBodiless ? {} : { 'content-length': String(answer.body.length) }) };
  outgoing.writeHead(answer.status, headers as Record<string, string | string[]>);
  if (fraction >= 1) {
    outgoing.end(isBodiless ? undefined : answer.body);
    return;
  }
  outgoing.write(answer.body.subarray(0, Math.floor(answer.body.length * fraction)), () => outgoing.destroy());
}

function wholeBody(incoming: IncomingMessage): Promise<{ readonly bytes: Buffer | null; readonly partial: Buffer }> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
    incoming.on('end', () => resolve({ bytes: Buffer.concat(chunks), partial: Buffer.alloc(0) }));
    incoming.on('error', () => resolve({ bytes: null, partial: Buffer.concat(chunks) }));
    incoming.on('close', () => resolve({ bytes: null, partial: Buffer.concat(chunks) }));
  });
}

function reset(socket: Socket): void {
  socket.on('error', () => undefined);
  socket.resetAndDestroy();
}

/** Ends early when the proxy heals. */
function pause(proxy: Proxy, forMs: number): Promise<void> {
  return new Promise((resolve) => {
    const timer = Number.isFinite(forMs) ? setTimeout(() => wake(), forMs) : undefined;
    const wake = (): void => {
      clearTimeout(timer);
      proxy.wakers.delete(wake);
      resolve();
    };
    proxy.wakers.add(wake);
  });
}
