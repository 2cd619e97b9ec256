'use strict';
// The page's worker: it runs the program, so that the page can be used while the program
// calculates. The page starts it from a text, hence under the page's own policy, and once
// nothing may be requested any more.

// unpacked returns the program. It is compressed; of a part that grows by the same steps
// only the differences are in the file, see pack.go.
async function unpacked(packed) {
	let bytes = new Uint8Array(packed);
	if (bytes[0] === 0x1f && bytes[1] === 0x8b) { // a server may have unpacked it
		bytes = new Uint8Array(await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'))).arrayBuffer());
	}
	const head = new DataView(bytes.buffer, 0, 12);
	const [stride, from, to] = [head.getUint32(0, true), head.getUint32(4, true), head.getUint32(8, true)];
	const program = bytes.subarray(12);
	for (let i = from + stride; i < to; i++) program[i] += program[i - stride];
	return program;
}

async function run(packed) {
	const ready = new Promise(resolve => { self.playgroundReady = resolve; });
	const go = new Go();
	const {instance} = await WebAssembly.instantiate(await unpacked(packed), go.importObject);
	go.run(instance);
	await ready;
}

// The first message is the packed program, each further one a request.
self.onmessage = ({data}) => {
	run(data).then(() => {
		self.onmessage = ({data}) => {
			try {
				postMessage({answer: playground(data)});
			} catch (err) {
				postMessage({failure: err.message});
			}
		};
		postMessage({ready: true});
	}, err => postMessage({failure: err.message}));
};
