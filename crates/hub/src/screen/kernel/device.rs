//! A real device for the tests of the kernels.
use super::Kernel;
use wgpu::{BufferBindingType, BufferUsages};

/// Runs a kernel as a worker does. Nothing, and it is said, where no driver answers.
pub(in crate::screen) fn run(source: &str, kernel: Kernel) -> Option<Vec<u8>> {
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("starts");
    let device = runtime.block_on(Device::open());
    if device.is_none() {
        crate::screen::skipped("no graphics driver answers (Debian: apt install mesa-vulkan-drivers)");
    }
    Some(device?.run(source, kernel))
}

struct Device {
    device: wgpu::Device,
    queue: wgpu::Queue,
}

/// A kernel that can be dispatched, and what it works on.
struct Ready {
    main: wgpu::ComputePipeline,
    finish: wgpu::ComputePipeline,
    parameters: wgpu::Buffer,
    output: wgpu::Buffer,
    group: wgpu::BindGroup,
}

impl Device {
    async fn open() -> Option<Self> {
        let mut descriptor = wgpu::InstanceDescriptor::new_without_display_handle();
        descriptor.backends = wgpu::Backends::VULKAN | wgpu::Backends::METAL | wgpu::Backends::DX12;
        let adapter =
            wgpu::Instance::new(descriptor).enumerate_adapters(wgpu::Backends::all()).await.into_iter().next()?;
        let wanted = wgpu::DeviceDescriptor { required_limits: adapter.limits(), ..Default::default() };
        let (device, queue) = adapter.request_device(&wanted).await.expect("the device opens");
        Some(Self { device, queue })
    }

    fn run(&self, source: &str, kernel: Kernel) -> Vec<u8> {
        let (ready, items) = (self.ready(source, kernel), kernel.side * kernel.side);
        for pass in 0..=kernel.passes {
            let mut numbers = [0_u32; 64];
            (numbers[6], numbers[7], numbers[10]) = (pass, kernel.passes, items);
            (numbers[16], numbers[17]) = (kernel.seed, kernel.side);
            let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
            self.queue.write_buffer(&ready.parameters, 0, &bytes);
            let mut encoder = self.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
            {
                let mut dispatch = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
                dispatch.set_pipeline(if pass == kernel.passes { &ready.finish } else { &ready.main });
                dispatch.set_bind_group(0, &ready.group, &[]);
                dispatch.dispatch_workgroups(items.div_ceil(64), 1, 1);
            }
            self.queue.submit([encoder.finish()]);
            self.wait();
        }
        self.read(&ready.output)
    }

    fn ready(&self, source: &str, kernel: Kernel) -> Ready {
        let layout = self.layout();
        let [main, finish] = self.pipelines(source, &layout);
        let (items, storage) = (u64::from(kernel.side * kernel.side), BufferUsages::STORAGE | BufferUsages::COPY_SRC);
        let parameters = self.buffer(256, BufferUsages::UNIFORM | BufferUsages::COPY_DST);
        let output = self.buffer(items, storage);
        let scratch = self.buffer(items * u64::from(kernel.scratch_bytes_per_item), storage);
        let bound = [(0, &parameters), (1, &output), (2, &scratch)];
        let entries =
            bound.map(|(binding, buffer)| wgpu::BindGroupEntry { binding, resource: buffer.as_entire_binding() });
        let descriptor = wgpu::BindGroupDescriptor { label: None, layout: &layout, entries: &entries };
        let group = self.device.create_bind_group(&descriptor);
        Ready { main, finish, parameters, output, group }
    }

    fn layout(&self) -> wgpu::BindGroupLayout {
        let entry = |binding: u32, ty: BufferBindingType| wgpu::BindGroupLayoutEntry {
            binding,
            visibility: wgpu::ShaderStages::COMPUTE,
            ty: wgpu::BindingType::Buffer { ty, has_dynamic_offset: false, min_binding_size: None },
            count: None,
        };
        let written = BufferBindingType::Storage { read_only: false };
        let entries = [entry(0, BufferBindingType::Uniform), entry(1, written), entry(2, written)];
        self.device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor { label: None, entries: &entries })
    }

    fn pipelines(&self, source: &str, layout: &wgpu::BindGroupLayout) -> [wgpu::ComputePipeline; 2] {
        let source = wgpu::ShaderSource::Wgsl(source.into());
        let module = self.device.create_shader_module(wgpu::ShaderModuleDescriptor { label: None, source });
        let layout = self.device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
            label: None,
            bind_group_layouts: &[Some(layout)],
            immediate_size: 0,
        });
        ["main", "finish"].map(|entry| {
            self.device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
                label: None,
                layout: Some(&layout),
                module: &module,
                entry_point: Some(entry),
                compilation_options: wgpu::PipelineCompilationOptions::default(),
                cache: None,
            })
        })
    }

    fn buffer(&self, size: u64, usage: BufferUsages) -> wgpu::Buffer {
        self.device.create_buffer(&wgpu::BufferDescriptor { label: None, size, usage, mapped_at_creation: false })
    }

    fn wait(&self) {
        self.device.poll(wgpu::PollType::wait_indefinitely()).expect("the device answers");
    }

    fn read(&self, output: &wgpu::Buffer) -> Vec<u8> {
        let staging = self.buffer(output.size(), BufferUsages::MAP_READ | BufferUsages::COPY_DST);
        let mut encoder = self.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        encoder.copy_buffer_to_buffer(output, 0, &staging, 0, output.size());
        self.queue.submit([encoder.finish()]);
        staging.map_async(wgpu::MapMode::Read, .., |_| {});
        self.wait();
        staging.get_mapped_range(..).expect("it is mapped").to_vec()
    }
}
