//! One open device in the kernel process: compiles kernels and runs dispatches on it.
use std::collections::HashMap;
use std::io::Read;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use gleaner_wire::{ByteSize, Cause, Hash, Micros};
use wgpu::{BufferBindingType, BufferUsages};

use super::kernel::{self, Checked, FIRST_INPUT};
use super::message::{Dispatch, Piece};
use crate::failure::Failure;

/// Compiled kernels that are kept.
const KERNELS_MAX: usize = 16;
/// Rows of four numbers in the parameters.
const PARAMETER_ROWS: usize = 16;
const PARAMETER_BYTES: u64 = PARAMETER_ROWS as u64 * 16;
/// Where pass and passes stand among the parameters.
const PASS: usize = 6;
/// A year: times beyond it only overflow clocks.
const TIME_MS_MAX: u64 = 365 * 24 * 3_600_000;
/// Input files are read in pieces of this size.
const PIECE_BYTES: usize = 1024 * 1024;

/// An open device.
pub(crate) struct Device {
    device: wgpu::Device,
    queue: wgpu::Queue,
    limits: wgpu::Limits,
    kernels: HashMap<Hash, Arc<Kernel>>,
    fault: Arc<Fault>,
}

/// What went wrong outside of any call.
#[derive(Default)]
struct Fault {
    lost: AtomicBool,
    last: Mutex<Option<String>>,
}

struct Kernel {
    checked: Checked,
    layout: wgpu::BindGroupLayout,
    entry: wgpu::ComputePipeline,
    finish: Option<wgpu::ComputePipeline>,
}

struct Buffers {
    parameters: wgpu::Buffer,
    output: wgpu::Buffer,
    staging: wgpu::Buffer,
    group: wgpu::BindGroup,
}

/// What a run delivers.
pub(crate) struct Ran {
    pub(crate) time: Micros,
    pub(crate) output: Vec<u8>,
}

fn refuse(text: String) -> Failure {
    Failure::new(Cause::BadInput, text)
}

impl Device {
    pub(crate) async fn open(adapter: &wgpu::Adapter) -> Result<Self, Failure> {
        let limits = adapter.limits();
        let descriptor = wgpu::DeviceDescriptor { required_limits: limits.clone(), ..Default::default() };
        let (device, queue) = adapter
            .request_device(&descriptor)
            .await
            .map_err(|error| Failure::new(Cause::DeviceFault, format!("the device does not open: {error}")))?;
        let fault = Arc::new(Fault::default());
        let (on_loss, on_error) = (fault.clone(), fault.clone());
        device.set_device_lost_callback(move |_, text| {
            on_loss.lost.store(true, Ordering::Release);
            on_loss.note(text);
        });
        device.on_uncaptured_error(Arc::new(move |error: wgpu::Error| on_error.note(error.to_string())));
        Ok(Self { device, queue, limits, kernels: HashMap::new(), fault })
    }

    /// Runs a dispatch. A failure other than bad input leaves the device unusable.
    pub(crate) async fn run(&mut self, dispatch: &Dispatch) -> Result<Ran, Failure> {
        let begun = Instant::now();
        let end = begun + Duration::from_millis(dispatch.time_ms_max.min(TIME_MS_MAX));
        self.check_sizes(dispatch)?;
        let kernel = self.kernel(dispatch).await?;
        let sizes = [Some(kernel.checked.entry_size), kernel.checked.finish_size];
        for size in sizes.into_iter().flatten() {
            self.check_workgroups(size, dispatch)?;
        }
        let buffers = self.buffers(dispatch, &kernel).await?;
        let scope = self.device.push_error_scope(wgpu::ErrorFilter::Validation);
        let passed = self.passes(dispatch, &kernel, &buffers, end);
        if let Some(error) = scope.pop().await {
            return Err(refuse(format!("the kernel does not fit its buffers: {error}")));
        }
        passed?;
        let output = self.read_output(&buffers, dispatch.output_bytes, end)?;
        let time = Micros(u64::try_from(begun.elapsed().as_micros()).unwrap_or(u64::MAX));
        Ok(Ran { time, output })
    }

    fn check_sizes(&self, dispatch: &Dispatch) -> Result<(), Failure> {
        let storage = 2 + dispatch.inputs.len() as u64;
        let storage_max = u64::from(self.limits.max_storage_buffers_per_shader_stage);
        if storage > storage_max {
            return Err(refuse(format!(
                "output, scratch and {} inputs are {storage} buffers; this device's limit \
                 max_storage_buffers_per_shader_stage is {storage_max}",
                dispatch.inputs.len()
            )));
        }
        let inputs = dispatch.inputs.iter().map(|pieces| pieces.iter().map(Piece::bytes).sum::<u64>());
        let sizes: Vec<u64> = [dispatch.output_bytes, dispatch.scratch_bytes].into_iter().chain(inputs).collect();
        let limits = [
            ("max_buffer_size", self.limits.max_buffer_size),
            ("max_storage_buffer_binding_size", self.limits.max_storage_buffer_binding_size),
        ];
        for (name, limit) in limits {
            if let Some(size) = sizes.iter().find(|size| **size > limit) {
                let size = ByteSize(*size);
                return Err(refuse(format!("a buffer of {size} is over this device's limit {name} of {limit} bytes")));
            }
        }
        let total = sizes.iter().fold(0_u64, |sum, size| sum.saturating_add(*size));
        if total > dispatch.memory_max {
            let (total, limit) = (ByteSize(total), ByteSize(dispatch.memory_max));
            return Err(Failure::new(Cause::OutOfMemory, format!("its buffers need {total}, its limit is {limit}")));
        }
        Ok(())
    }

    fn check_workgroups(&self, size: [u32; 3], dispatch: &Dispatch) -> Result<(), Failure> {
        let limit = self.limits.max_compute_workgroups_per_dimension;
        let (across, down) = workgroups(size, dispatch.invocations);
        if across > limit || down > limit {
            return Err(refuse(format!(
                "{across} × {down} workgroups are over this device's limit max_compute_workgroups_per_dimension of \
                 {limit}: use smaller tiles, fewer items or a larger workgroup size"
            )));
        }
        Ok(())
    }

    /// The compiled kernel of a dispatch.
    async fn kernel(&mut self, dispatch: &Dispatch) -> Result<Arc<Kernel>, Failure> {
        let shape = (
            (&dispatch.source, &dispatch.entry, &dispatch.finish),
            (dispatch.scratch_bytes > 0, dispatch.inputs.len()),
        );
        let id = Hash::of(&gleaner_wire::encode(&shape));
        if let Some(kernel) = self.kernels.get(&id) {
            return Ok(kernel.clone());
        }
        let kernel = Arc::new(self.compile(dispatch).await?);
        if self.kernels.len() >= KERNELS_MAX {
            self.kernels.clear();
        }
        self.kernels.insert(id, kernel.clone());
        Ok(kernel)
    }

    async fn compile(&self, dispatch: &Dispatch) -> Result<Kernel, Failure> {
        let checked = kernel::check(dispatch)?;
        let scopes = [wgpu::ErrorFilter::Internal, wgpu::ErrorFilter::Validation]
            .map(|filter| self.device.push_error_scope(filter));
        let source = wgpu::ShaderSource::Wgsl(dispatch.source.as_str().into());
        let module = self.device.create_shader_module(wgpu::ShaderModuleDescriptor { label: None, source });
        let layout = self.layout(dispatch);
        let pipeline_layout = self.device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
            label: None,
            bind_group_layouts: &[Some(&layout)],
            immediate_size: 0,
        });
        let pipeline = |entry: &str| {
            self.device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
                label: None,
                layout: Some(&pipeline_layout),
                module: &module,
                entry_point: Some(entry),
                compilation_options: wgpu::PipelineCompilationOptions::default(),
                cache: None,
            })
        };
        let entry = pipeline(&dispatch.entry);
        let finish = dispatch.finish.as_deref().map(pipeline);
        let [internal, validation] = scopes;
        if let Some(error) = validation.pop().await {
            return Err(refuse(format!("this device does not take the kernel: {error}")));
        }
        if let Some(error) = internal.pop().await {
            return Err(Failure::new(Cause::DeviceFault, format!("the driver failed on the kernel: {error}")));
        }
        Ok(Kernel { checked, layout, entry, finish })
    }

    fn layout(&self, dispatch: &Dispatch) -> wgpu::BindGroupLayout {
        let entry = |binding: u32, ty: BufferBindingType| wgpu::BindGroupLayoutEntry {
            binding,
            visibility: wgpu::ShaderStages::COMPUTE,
            ty: wgpu::BindingType::Buffer { ty, has_dynamic_offset: false, min_binding_size: None },
            count: None,
        };
        let written = BufferBindingType::Storage { read_only: false };
        let mut entries = vec![entry(0, BufferBindingType::Uniform), entry(1, written)];
        if dispatch.scratch_bytes > 0 {
            entries.push(entry(2, written));
        }
        let inputs = FIRST_INPUT..FIRST_INPUT + dispatch.inputs.len() as u32;
        entries.extend(inputs.map(|binding| entry(binding, BufferBindingType::Storage { read_only: true })));
        self.device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor { label: None, entries: &entries })
    }

    async fn buffers(&self, dispatch: &Dispatch, kernel: &Kernel) -> Result<Buffers, Failure> {
        let scope = self.device.push_error_scope(wgpu::ErrorFilter::OutOfMemory);
        let storage = BufferUsages::STORAGE | BufferUsages::COPY_SRC | BufferUsages::COPY_DST;
        let parameters = self.buffer(PARAMETER_BYTES, BufferUsages::UNIFORM | BufferUsages::COPY_DST);
        let output = self.buffer(dispatch.output_bytes, storage);
        let staging = self.buffer(dispatch.output_bytes, BufferUsages::MAP_READ | BufferUsages::COPY_DST);
        let scratch = (dispatch.scratch_bytes > 0).then(|| self.buffer(dispatch.scratch_bytes, storage));
        let sizes = dispatch.inputs.iter().map(|pieces| pieces.iter().map(Piece::bytes).sum());
        let inputs: Vec<_> = sizes.map(|size| self.buffer(size, storage)).collect();
        if let Some(error) = scope.pop().await {
            // The task keeps to its limit; it is the device that has less than it offers.
            return Err(Failure::new(Cause::DeviceFault, format!("the device has no room for the buffers: {error}")));
        }
        for (pieces, buffer) in dispatch.inputs.iter().zip(&inputs) {
            self.fill(pieces, buffer)?;
        }
        let bound = [(0, &parameters), (1, &output)].into_iter().chain(scratch.iter().map(|buffer| (2, buffer)));
        let bound = bound.chain((FIRST_INPUT..).zip(&inputs));
        let entries: Vec<_> = bound
            .map(|(binding, buffer)| wgpu::BindGroupEntry { binding, resource: buffer.as_entire_binding() })
            .collect();
        let descriptor = wgpu::BindGroupDescriptor { label: None, layout: &kernel.layout, entries: &entries };
        let group = self.device.create_bind_group(&descriptor);
        Ok(Buffers { parameters, output, staging, group })
    }

    /// A zeroed buffer. Sizes are rounded up to what devices bind: a multiple of four, and never nothing.
    fn buffer(&self, size: u64, usage: BufferUsages) -> wgpu::Buffer {
        let size = size.max(4).next_multiple_of(4);
        self.device.create_buffer(&wgpu::BufferDescriptor { label: None, size, usage, mapped_at_creation: false })
    }

    fn fill(&self, pieces: &[Piece], buffer: &wgpu::Buffer) -> Result<(), Failure> {
        let mut offset = 0;
        let mut pending = Vec::new();
        let unreadable = |error| Failure::new(Cause::DeviceFault, format!("an input could not be read: {error}"));
        let mut write = |pending: &mut Vec<u8>, whole: bool| {
            let len = if whole { pending.len().next_multiple_of(4) } else { pending.len() / 4 * 4 };
            pending.resize(pending.len().max(len), 0);
            self.queue.write_buffer(buffer, offset, &pending[..len]);
            offset += len as u64;
            pending.drain(..len);
        };
        for piece in pieces {
            match piece {
                Piece::Bytes(bytes) => pending.extend_from_slice(bytes),
                Piece::File(path, len) => {
                    let mut file = std::fs::File::open(path).map_err(unreadable)?.take(*len);
                    loop {
                        let step = file.by_ref().take(PIECE_BYTES as u64).read_to_end(&mut pending);
                        if step.map_err(unreadable)? == 0 {
                            break;
                        }
                        write(&mut pending, false);
                    }
                }
            }
        }
        write(&mut pending, true);
        Ok(())
    }

    fn passes(&self, dispatch: &Dispatch, kernel: &Kernel, buffers: &Buffers, end: Instant) -> Result<(), Failure> {
        let mut parameters = dispatch.parameters.clone();
        parameters.resize(PARAMETER_ROWS * 4, 0);
        parameters[PASS + 1] = dispatch.passes;
        for pass in 0..dispatch.passes {
            parameters[PASS] = pass;
            self.pass(&kernel.entry, workgroups(kernel.checked.entry_size, dispatch.invocations), buffers, &parameters);
            self.wait(end)?;
        }
        if let (Some(finish), Some(size)) = (&kernel.finish, kernel.checked.finish_size) {
            parameters[PASS] = dispatch.passes;
            self.pass(finish, workgroups(size, dispatch.invocations), buffers, &parameters);
            self.wait(end)?;
        }
        Ok(())
    }

    fn pass(&self, pipeline: &wgpu::ComputePipeline, groups: (u32, u32), buffers: &Buffers, parameters: &[u32]) {
        let bytes: Vec<u8> = parameters.iter().flat_map(|number| number.to_le_bytes()).collect();
        self.queue.write_buffer(&buffers.parameters, 0, &bytes);
        let mut encoder = self.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        {
            let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
            pass.set_pipeline(pipeline);
            pass.set_bind_group(0, &buffers.group, &[]);
            pass.dispatch_workgroups(groups.0, groups.1, 1);
        }
        self.queue.submit([encoder.finish()]);
    }

    /// Waits for what was submitted last.
    fn wait(&self, end: Instant) -> Result<(), Failure> {
        let left = end.saturating_duration_since(Instant::now());
        let waited = self.device.poll(wgpu::PollType::Wait { submission_index: None, timeout: Some(left) });
        self.fault.check()?;
        match waited {
            Ok(_) => Ok(()),
            Err(wgpu::PollError::Timeout) => Err(time_limit()),
            Err(error) => Err(Failure::new(Cause::DeviceFault, format!("the device does not answer: {error}"))),
        }
    }

    fn read_output(&self, buffers: &Buffers, bytes: u64, end: Instant) -> Result<Vec<u8>, Failure> {
        let mut encoder = self.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        encoder.copy_buffer_to_buffer(&buffers.output, 0, &buffers.staging, 0, buffers.output.size());
        self.queue.submit([encoder.finish()]);
        buffers.staging.map_async(wgpu::MapMode::Read, .., |_| {});
        self.wait(end)?;
        let broken = |error| Failure::new(Cause::DeviceFault, format!("the output could not be read: {error}"));
        let view = buffers.staging.get_mapped_range(..).map_err(broken)?;
        let len = usize::try_from(bytes).expect("a buffer of this size was made");
        Ok(view[..len].to_vec())
    }
}

fn time_limit() -> Failure {
    Failure::new(Cause::TimeLimit, "the kernel ran past its time limit")
}

/// How many workgroups of a size cover the invocations.
fn workgroups(size: [u32; 3], invocations: (u32, u32)) -> (u32, u32) {
    (invocations.0.div_ceil(size[0].max(1)), invocations.1.div_ceil(size[1].max(1)))
}

impl Fault {
    fn note(&self, text: String) {
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Some(text);
    }

    fn check(&self) -> Result<(), Failure> {
        let lost = self.lost.load(Ordering::Acquire);
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner).take();
        match last {
            Some(text) => Err(Failure::new(Cause::DeviceFault, format!("the driver reported: {text}"))),
            None if lost => Err(Failure::new(Cause::DeviceFault, "the device was lost")),
            None => Ok(()),
        }
    }
}
