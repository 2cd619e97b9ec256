'use strict';
// The page's worker. It runs the program, so that the page stays responsive during
// calculations. The page starts it from a text, and thus under the page's own policy, once
// requests are forbidden.

// unpacked returns the program. The packed form is compressed and has differences in place
// of the function table, see pack.go.
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

// The first message is the packed program, and each further one is a request.
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
